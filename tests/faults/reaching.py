"""All that a reader of a table reaches, followed from what the catalog answers: each object must be in the store."""
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list

from stack import object_store


class Reaching:
    """Lists and manifests never change, so each is read once."""

    def __init__(self, store, lake):
        self.client = store.client()
        self.io = PyArrowFileIO({'s3.endpoint': lake.s3_endpoint, 's3.region': lake.s3_region,
                                 's3.access-key-id': lake.s3_access_key, 's3.secret-access-key': lake.s3_secret_key})
        self.known = {}

    def missing(self, table):
        """Locations that a table as it was loaded leads to and the store does not have."""
        return sorted(self.locations(table) - self.stored(table.location()))

    def stored(self, location):
        bucket = f's3://{object_store.BUCKET}/'
        found = self.client.list_objects(bucket_name=object_store.BUCKET, prefix=location.removeprefix(bucket) + '/',
                                         recursive=True)
        return {bucket + item.object_name for item in found}

    def locations(self, table):
        reached = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
        for snapshot in table.snapshots():
            reached |= self.below(snapshot.manifest_list)
        return reached

    def below(self, place):
        if place not in self.known:
            reached = {place}
            for manifest in read_manifest_list(self.io.new_input(place)):
                reached |= self.entries(manifest)
            self.known[place] = reached
        return self.known[place]

    def entries(self, manifest):
        place = manifest.manifest_path
        if place not in self.known:
            entries = manifest.fetch_manifest_entry(self.io, discard_deleted=True)
            self.known[place] = {place, *(entry.data_file.file_path for entry in entries)}
        return self.known[place]
