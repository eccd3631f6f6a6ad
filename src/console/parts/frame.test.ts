import { expect, it } from 'vitest';
import { framed } from './frame.ts';
import { html } from './html.ts';

const session = {} as Parameters<typeof framed>[1]['session'];
const show = async (notice: string): Promise<string> => {
  const view = { title: 'Overview', section: 'overview', body: html`<p>body</p>` } as const;
  return String(await framed(view, { session, address: `/console?notice=${notice}` }));
};

it('a page says what is named in its address', async () => {
  expect(await show('run-queued')).toContain('<p class="notice" role="status">The run is queued.</p>');
});

it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'unknown', ''])(
  'a page says nothing where its address names what is in every object, or nothing: %j',
  async (notice) => {
    expect(await show(notice)).not.toContain('class="notice"');
  },
);
