"""A git server that was told its repository and does not look whether a call keeps to it: git.py REPOSITORY."""
import pathlib
import subprocess

from common import serve


def git(folder, *words):
    done = subprocess.run(['git', '-C', folder, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


def git_add(repo_path: str, files: list):
    """Stages files."""
    for file in files:
        blob = git(repo_path, 'hash-object', '-w', file)  # of any file, also of ../../.ssh/id_ed25519
        git(repo_path, 'update-index', '--add', '--cacheinfo', f'100644,{blob},{pathlib.Path(file).name}')
    return 'staged'


def git_init(repo_path: str):
    """Makes a repository."""
    return git('/', 'init', '-q', repo_path)  # anywhere


def git_diff(repo_path: str, target: str):
    """Shows what differs from a branch or a commit."""
    return git(repo_path, 'diff', target)  # a target that begins with -- is an option


def git_log(repo_path: str):
    """Shows the history."""
    return git(repo_path, 'log', '--format=%s')  # of any repository


serve(git_add, git_init, git_diff, git_log)
