"""A catalog of PyIceberg's own, in memory: its tables are files in the store that no other catalog knows."""
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.io import load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table


class ForeignCatalog(MetastoreCatalog):
    """Makes, registers and changes tables; it can do nothing else, and the tests ask for nothing else."""

    def __init__(self, warehouse, **properties):
        super().__init__('foreign', warehouse=warehouse, **properties)
        self.tables = {}

    def create_table(self, identifier, schema, partition_spec=UNPARTITIONED_PARTITION_SPEC, properties=None):
        made = self._create_staged_table(identifier, schema, partition_spec=partition_spec,
                                         properties=properties or {})
        return self._keep(made)

    def register_table(self, identifier, metadata_location):
        """A table of another catalog, from its metadata file."""
        file_io = load_file_io(self.properties, metadata_location)
        name = self.identifier_to_tuple(identifier)
        metadata = FromInputFile.table_metadata(file_io.new_input(metadata_location))
        self.tables[name] = Table(name, metadata, metadata_location, file_io, self)
        return self.tables[name]

    def load_table(self, identifier):
        return self.tables[self.identifier_to_tuple(identifier)]

    def load_namespace_properties(self, namespace):
        return {}

    def commit_table(self, table, requirements, updates):
        made = self._update_and_stage_table(self.load_table(table.name()), table.name(), requirements, updates)
        kept = self._keep(made)
        return CommitTableResponse(metadata=kept.metadata, metadata_location=kept.metadata_location)

    def _keep(self, made):
        self._write_metadata(made.metadata, made.io, made.metadata_location)
        name = self.identifier_to_tuple(made.name())
        self.tables[name] = Table(name, made.metadata, made.metadata_location, made.io, self)
        return self.tables[name]


# The rest of the interface is not asked for.
ForeignCatalog.__abstractmethods__ = frozenset()
