"""The governance console in a real browser: what a person types, clicks and reads."""
import contextlib
import re
import shutil
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

BROWSER = shutil.which('chromium')
SECONDS = 60  # Awaited at most; a machine that is busy is slow.
CHOICES = ('Tag', 'On', 'To', 'Policy', 'May', 'Where')  # Fields with a list to choose from.
REFUSED = re.compile(r'Failed to load resource: the server responded with a status of (\d+)')

expect.set_options(timeout=SECONDS * 1000)


@contextlib.contextmanager
def browser():
    with sync_playwright() as driver:
        # The sandbox needs user namespaces, which containers often lack; what is opened is our own page.
        made = driver.chromium.launch(executable_path=BROWSER, args=['--no-sandbox', '--disable-dev-shm-usage'])
        yield made
        made.close()


class Console:
    """One tab on one server. It notes whatever goes wrong, and close() says so."""

    def __init__(self, browser, uri, refusals=(), path='/ui', **context):
        self.uri, self.refusals = uri, set(refusals)
        self.context = browser.new_context(locale='en-GB', timezone_id='UTC', **context)
        self.context.set_default_timeout(SECONDS * 1000)
        self.page = self.context.new_page()
        self.faults, self.requests = [], []
        self.page.on('console', lambda message: self.note(message.type, message.text))
        self.page.on('pageerror', lambda error: self.faults.append(f'error: {error}'))
        self.page.on('dialog', lambda dialog: (self.faults.append(f'dialog: {dialog.message}'), dialog.dismiss()))
        self.page.on('request', lambda request: self.requests.append(request.url))
        self.page.goto(uri + path)
        self.titled('Sign in')

    def note(self, kind, text):
        refused = REFUSED.match(text)
        if kind not in ('error', 'warning') or (refused and int(refused[1]) in self.refusals):
            return
        self.faults.append(f'{kind}: {text}')

    def close(self):
        self.context.close()
        ours = urlsplit(self.uri).netloc
        assert self.faults == [], self.faults
        assert [url for url in self.requests if urlsplit(url).netloc != ours] == []

    # What a person sees.

    def titled(self, text):
        expect(self.page.get_by_role('heading', level=1)).to_have_text(text)

    def reads(self, *texts):
        for text in texts:
            expect(self.page.locator('main')).to_contain_text(text)

    def told(self, text):
        """In the corner of the page, where a screen reader reads it out."""
        expect(self.page.get_by_role('status')).to_contain_text(text)

    def refused(self, *texts):
        for text in texts:
            expect(self.page.get_by_role('alert')).to_contain_text(text)

    def row(self, table, text):
        return self.page.get_by_role('region', name=table, exact=True).get_by_role('row').filter(has_text=text)

    # What a person does.

    def sign_in(self, client, secret='s'):
        self.page.get_by_label('Client id').fill(client)
        self.page.get_by_label('Secret').fill(secret)
        self.page.get_by_role('button', name='Sign in').click()

    def go(self, name):
        self.page.get_by_role('navigation').get_by_role('link', name=name).click()

    def open(self, place):
        self.page.evaluate('place => { location.hash = place; }', place)

    def submit(self, legend, **values):
        """Fills in the form of that legend by its labels' first words, told apart by case; a choice is taken by its text."""
        form = self.page.get_by_role('group', name=legend, exact=True)
        for label, value in values.items():
            field = form.get_by_label(re.compile(rf'^{label}\b'))
            if label in CHOICES:
                field.select_option(label=value)
            else:
                field.fill(value)
        form.get_by_role('button').click()

    def take(self, name, yes):
        """Presses a button that takes something away, and says yes."""
        self.page.get_by_role('button', name=name, exact=True).click()
        self.page.get_by_role('dialog').get_by_role('button', name=yes, exact=True).click()
