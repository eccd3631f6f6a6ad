import { source as axeSource } from 'axe-core';
import { describe, expect, it } from 'vitest';
import { acceptQuestions, expectToSee, press, useBrowsedConsole } from '../support/console/browsed-console.ts';

const us = useBrowsedConsole();

describe('a connection', () => {
  it('is synced, and its run canceled and run again', async () => {
    await using window = await us().openAt(`/connections/${us().rich.connectionId}`);
    const { page } = window;
    await press(page, 'Sync');
    await expectToSee(page, 'The run is queued.');
    await press(page, 'Cancel');
    await expectToSee(page, /is being canceled|Canceled/);
    await us().goTo(page, `/runs/${us().rich.runId}`);
    await press(page, 'Run again');
    await expectToSee(page, 'The run is queued.');
    expect(page.url()).not.toContain(us().rich.runId);
  });

  it('is paused after a question, and activated', async () => {
    await using window = await us().open();
    const { page } = window;
    await us().goTo(page, `/connections/${us().rich.connectionId}`);
    page.once('dialog', (dialog) => void dialog.dismiss());
    await press(page, 'Pause');
    expect((await us().org.call('GET', `/connections/${us().rich.connectionId}`)).body.status).toBe('active');
    acceptQuestions(page);
    await press(page, 'Pause');
    await expectToSee(page, 'The connection is paused.');
    await press(page, 'Activate');
    await expectToSee(page, 'The connection is active.');
  });

  it('is backfilled, and says what is wrong with a start', async () => {
    await using window = await us().openAt(`/connections/${us().rich.connectionId}`);
    const { page } = window;
    await page.getByText('Backfill a resource').click();
    await page.getByRole('textbox', { name: 'From' }).fill('yesterday');
    await press(page, 'Start the backfill');
    await expectToSee(page, 'This cannot be done as it is');
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByText('Backfill a resource').click();
    await page.getByRole('textbox', { name: 'From' }).fill('2026-01-01T00:00:00Z');
    await press(page, 'Start the backfill');
    await expectToSee(page, 'The run is queued.');
    await expectToSee(page, 'as a backfill');
  });

  it('gets a schedule, shown in words with its next times', async () => {
    await using window = await us().openAt(`/connections/${us().rich.connectionId}`);
    const { page } = window;
    await page.getByText('Add a schedule').click();
    await page.getByLabel('Cron expression').fill('5 4 * * 0');
    await page.getByLabel('Time zone').fill('Europe/Paris');
    await press(page, 'Add the schedule');
    await expectToSee(page, 'At 04:05, only on Sunday');
    const row = page.getByRole('row').filter({ hasText: 'At 04:05' });
    expect(await row.locator('time').count()).toBe(3);
    await row.getByRole('button', { name: 'Disable' }).click();
    await expectToSee(page, 'The schedule is changed.');
    await row.getByRole('button', { name: 'Delete' }).click();
    await expectToSee(page, 'The schedule is deleted.');
    expect(await row.count()).toBe(0);
  });

  it('is tested, and says what fails', async () => {
    await using window = await us().openAt(`/connections/${us().rich.connectionId}`);
    await press(window.page, 'Test');
    await expectToSee(window.page, 'Something fails');
    await expectToSee(window.page, 'Values');
  });
});

describe('the quarantine', () => {
  const isOpen = async (id: string) => (await us().org.call('GET', `/quarantine/${id}`)).body.resolvedAt === null;

  it('shows a record beside the reasons, and requeues one, some and all', async () => {
    await using window = await us().openAt(`/quarantine/${us().rich.quarantineId}`);
    const { page } = window;
    await expectToSee(page, 'must have required property "street"');
    await press(page, 'Requeue');
    await expectToSee(page, 'Resolved');
    expect(await isOpen(us().rich.quarantineId)).toBe(false);
    await us().goTo(page, `/quarantine?connectionId=${us().rich.partialConnectionId}`);
    const boxes = page.getByRole('checkbox', { name: /^Select c_/ });
    expect(await boxes.count()).toBe(13);
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await press(page, 'Requeue the selected');
    await expectToSee(page, '2 records are requeued: the next runs begin with them.');
    expect(await boxes.count()).toBe(11);
    await press(page, 'Requeue the selected');
    await expectToSee(page, 'select at least one record');
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByLabel(/Select all/).check();
    expect(await page.getByRole('checkbox', { name: /^Select c_/, checked: true }).count()).toBe(11);
    await press(page, 'Requeue all');
    await expectToSee(page, 'No record is quarantined here.');
  });
});

describe('an endpoint', () => {
  it('is added, with its secret shown once, tested, disabled, recovered and deleted', async () => {
    await using window = await us().openAt('/endpoints');
    const { page } = window;
    await page.getByText('Add an endpoint', { exact: true }).click();
    await page.getByLabel('URL').fill('https://93.184.215.14/new');
    await page.getByLabel('run.started').check();
    await press(page, 'Add the endpoint');
    await expectToSee(page, /^whsec_/);
    await page.getByRole('link', { name: 'Go on' }).click();
    await press(page, 'Send a test');
    await expectToSee(page, 'The test event is on its way.');
    await expectToSee(page, 'Delivery of webhook.test');
    await page.goBack();
    await press(page, 'Disable');
    await expectToSee(page, 'Events are kept as skipped');
    await press(page, 'Enable');
    await expectToSee(page, 'The endpoint is enabled.');
    await page.getByText('Choose what to send').click();
    await press(page, 'Send them again');
    await expectToSee(page, 'The recovery has begun.');
    await page.getByRole('link', { name: 'Endpoint', exact: true }).click();
    await press(page, 'Delete');
    await expectToSee(page, 'The endpoint is deleted.');
    expect(await page.getByText('/new').count()).toBe(0);
  });

  it('gets a delivery once more', async () => {
    await using window = await us().openAt(`/deliveries/${us().rich.failedDeliveryId}`);
    await expectToSee(window.page, '503 Service Temporarily Unavailable');
    await press(window.page, 'Redeliver');
    await expectToSee(window.page, 'One more attempt is on its way.');
    await expectToSee(window.page, 'a redelivery');
  });
});

describe('a spec', () => {
  it('is validated while it is typed, saved, published, compared and deprecated', async () => {
    await using window = await us().openAt('/specs/crm/1.2.0');
    const { page } = window;
    const text = page.getByLabel('YAML or JSON');
    const before = await text.inputValue();
    await text.fill(before.replace('kind: bearer', 'kind: bearar'));
    await page.locator('#result').getByText('auth.kind').waitFor();
    await press(page, 'Save the draft');
    await page.locator('#result').getByText('auth.kind').waitFor();
    expect(await text.inputValue()).toContain('bearar');
    await text.fill(before.replace('name: CRM', 'name: CRM of ours'));
    await page.locator('#result').getByText('The spec is valid').waitFor();
    await press(page, 'Save the draft');
    await expectToSee(page, 'The draft is saved.');
    await press(page, 'Publish');
    await expectToSee(page, 'The version is published');
    await us().goTo(page, '/specs/crm');
    await press(page, 'Compare');
    await expectToSee(page, 'CRM of ours');
    await us().goTo(page, '/specs/crm/1.2.0');
    await press(page, 'Deprecate');
    await expectToSee(page, 'The version takes no new connections.');
  });

  it('is written from an example, and deleted', async () => {
    await using window = await us().openAt('/new-spec');
    const { page } = window;
    await press(page, 'Check it');
    await expectToSee(page, 'The spec is valid');
    await press(page, 'Create the draft');
    await expectToSee(page, 'The draft is created.');
    await press(page, 'Delete');
    await expectToSee(page, 'The draft is deleted.');
  });

  it('has a transform that is tried while it is typed', async () => {
    await using window = await us().openAt('/specs/crm/1.1.0');
    const { page } = window;
    await page.getByLabel('Transform (JSONata)').fill('{ "upper": $uppercase(id) }');
    await page.locator('#preview').getByText('"upper": "C_81"').waitFor();
    await page.getByLabel('Transform (JSONata)').fill('{ "upper": ');
    expect(await page.locator('#preview .notice.bad').innerText()).toContain('1 issue to correct');
  });
});

describe('a hook', () => {
  it('is added, with its address shown once, replaced, switched and deleted', async () => {
    await using window = await us().openAt(`/connections/${us().rich.connectionId}/hooks`);
    const { page } = window;
    await page.getByText('Add a hook', { exact: true }).click();
    await page.getByLabel('companies').check();
    await page.getByLabel('How a request proves').selectOption('github');
    await press(page, 'Add the hook');
    await expectToSee(page, /\/api\/hooks\//);
    await page.getByRole('link', { name: 'Go on' }).click();
    await press(page, 'Replace the secret');
    await expectToSee(page, 'The secret is replaced');
    await page.getByRole('link', { name: 'Go on' }).click();
    await press(page, 'Disable');
    await expectToSee(page, 'The hook is disabled');
    await press(page, 'Delete');
    await expectToSee(page, 'The hook is deleted.');
  });
});

describe('a list of connections', () => {
  it('is selected as a whole, and keeps the selection while it refreshes', async () => {
    await using window = await us().openAt('/connections?spec=billing&status=active');
    const { page } = window;
    await page.getByLabel('Select Kestrel Energy').check();
    await page.evaluate('document.activeElement.blur()');
    await page.waitForResponse((response) => 'x-console-refresh' in response.request().headers(), { timeout: 20_000 });
    expect(await page.getByLabel('Select Kestrel Energy').isChecked()).toBe(true);
    await page.getByLabel('Select all on this page').check();
    expect(await page.getByRole('checkbox', { name: 'Select ', checked: true }).count()).toBe(3);
    await press(page, 'Pause');
    await expectToSee(page, '2 connections are paused.');
    await us().goTo(page, '/connections?spec=billing&status=paused');
    await page.getByLabel('Select all on this page').check();
    await press(page, 'Sync');
    await expectToSee(page, 'None worked');
    await expectToSee(page, 'The connection is paused; activate it before a sync.');
    await page.getByRole('link', { name: 'Back to the list' }).click();
    await page.getByLabel('Select Kestrel Energy').check();
    await page.getByLabel('Select Alder & Finch').check();
    await press(page, 'Activate');
    await expectToSee(page, '2 connections are active.');
    expect(window.complaints).toEqual([]);
  });
});

describe('Ctrl-K', () => {
  it('finds as one types, and opens what the arrows select', async () => {
    await using window = await us().openAt('/runs');
    const { page } = window;
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'Find' });
    await box.pressSequentially('harbor');
    await page.getByRole('option', { name: /Harbor Logistics/, selected: true }).waitFor();
    expect(await box.getAttribute('aria-activedescendant')).toBe('find-option-0');
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate<{ violations: { id: string }[] }>('axe.run()');
    expect(violations.map(({ id }) => id)).toEqual([]);
    await box.fill('c');
    await page.getByRole('group', { name: 'Specs' }).waitFor();
    const all = await page.getByRole('dialog').getByRole('option').count();
    await page.keyboard.press('ArrowUp');
    expect(await box.getAttribute('aria-activedescendant')).toBe(`find-option-${all - 1}`);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    expect(await box.isVisible()).toBe(false);
    await page.keyboard.press('Control+k');
    await box.fill('c_81');
    await page.getByRole('group', { name: 'Records' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Record c_81' }).waitFor();
    await expectToSee(page, 'its last version; it is skipped until its content changes');
    await page.keyboard.press('Control+k');
    await box.fill('harbor');
    await page.getByRole('option', { name: /Harbor Logistics/, selected: true }).waitFor();
    await box.fill('nobody has this name');
    expect(await box.getAttribute('aria-activedescendant')).toBe(null);
    await page.getByText('Nothing is found.').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/find?q=nobody+has+this+name');
    expect(window.complaints).toEqual([]);
  });

  it('is a form without JavaScript', async () => {
    await using window = await us().open({ javaScriptEnabled: false });
    const { page } = window;
    await page.getByRole('searchbox', { name: 'Find' }).fill(us().rich.failedRunId);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /^Run of/ }).click();
    await expectToSee(page, 'Why it failed');
  });
});

it('a page of a connection without JavaScript is reached by its tabs', async () => {
  await using window = await us().open({ javaScriptEnabled: false });
  const { page } = window;
  await us().goTo(page, `/connections/${us().rich.partialConnectionId}`);
  const tab = (name: string) =>
    page.getByRole('navigation', { name: 'Pages of Meridian Foods' }).getByRole('link', { name });
  for (const name of ['Runs', 'Quarantine', 'Hooks and events', 'Settings', 'Overview']) {
    await tab(name).click();
    await page.getByRole('heading', { name: 'Meridian Foods' }).waitFor();
    expect(await tab(name).getAttribute('aria-current')).toBe('page');
  }
});
