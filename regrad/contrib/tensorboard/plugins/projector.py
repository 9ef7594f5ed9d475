"""The embedding projector of TensorBoard: which variables of a checkpoint it shows, with what beside them.

    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = words.name, "words.tsv"
    projector.visualize_embeddings(tf.summary.FileWriter("logs"), config)
"""

import os

from regrad.core.proto import Message, fields
from regrad.io.gfile import GFile

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


class SpriteMetadata(Message):
    """A picture of small pictures, one for each row; `single_image_dim` is the width and height of one."""

    FIELDS = fields("1 image_path string; 2 single_image_dim uint32*")


class EmbeddingInfo(Message):
    """A matrix by the name of its variable, or in a file `tensor_path`, and the files of labels, bookmarks and pictures."""

    FIELDS = fields("1 tensor_name string; 2 metadata_path string; 3 bookmarks_path string; 4 tensor_shape uint32*; "
                    "5 sprite SpriteMetadata; 6 tensor_path string")


class ProjectorConfig(Message):
    """The matrices, and the checkpoint that has them: by default the latest in the folder of the summaries."""

    FIELDS = fields("1 model_checkpoint_path string; 2 embeddings EmbeddingInfo*; 3 model_checkpoint_dir string")


def visualize_embeddings(summary_writer, config):
    """Writes `config` as text into the folder of a `tf.summary.FileWriter`, where the projector looks: projector_config.pbtxt.

    Raises:
      ValueError: the writer has no folder.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    with GFile(os.path.join(folder, "projector_config.pbtxt"), "w") as file:
        file.write(str(config))
