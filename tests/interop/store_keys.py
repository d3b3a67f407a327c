"""What one set of keys can do at the store."""
import io

from minio.error import S3Error


class StoreKeys:
    """Each answer is True, or False where it is refused."""

    def __init__(self, bucket, client):
        self.bucket = bucket
        self.client = client

    @staticmethod
    def tried(action):
        try:
            action()
            return True
        except S3Error as error:
            assert error.code == 'AccessDenied', error
            return False

    def gets(self, key):
        return self.tried(lambda: self.client.get_object(self.bucket, key).read(1))

    def puts(self, key, content=b'not what was there'):
        return self.tried(lambda: self.client.put_object(self.bucket, key, io.BytesIO(content), len(content)))

    def deletes(self, key):
        return self.tried(lambda: self.client.remove_object(self.bucket, key))

    def lists(self, prefix):
        return self.tried(lambda: list(self.client.list_objects(self.bucket, prefix=prefix, recursive=True)))
