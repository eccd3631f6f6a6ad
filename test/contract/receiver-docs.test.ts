import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { webhookHeaders } from '../../src/core/crypto/standard-webhook.ts';
import { splitBatch } from '../../src/core/destinations/webhook/parts.ts';
import { interpretResponse, type WebhookVerdict } from '../../src/core/destinations/webhook/response.ts';
import { batchOf, rowOf } from '../support/sync/batches.ts';

const page = readFileSync(new URL('../../docs/connectors/receiver.md', import.meta.url), 'utf8');

/** The code blocks of the page whose first line begins with a language, with the rest of that line. */
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language} (.*)\\n([^]*?)^\`\`\``, 'gm'))].map(([, note = '', text = '']) => ({
    note,
    text,
  }));

/** A response as it is written in a block. */
function responseIn(text: string) {
  const [head = '', ...body] = text.split('\n\n');
  const [line = '', ...headers] = head.trim().split('\n');
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(headers.map((header) => header.split(': '))),
    body: Buffer.from(body.join('\n\n')),
    url: new URL('https://receiver.test'),
  };
}

const said = (verdict: WebhookVerdict): string => {
  const refused = verdict.kind === 'accepted' ? verdict.rejections.map(({ externalId }) => externalId) : [];
  return [verdict.kind, ...(refused.length > 0 ? [`refuses ${refused.join(' ')}`] : [])].join(', ');
};

describe('the page for receivers', () => {
  it.each(blocksOf('http'))('has responses that mean what it says: $note', ({ note, text }) => {
    expect(said(interpretResponse(responseIn(text), Date.now()))).toBe(note);
  });

  it('has the request as it is sent', async () => {
    const [shown] = blocksOf('json');
    const example = JSON.parse(shown?.text ?? '');
    const { parts } = await splitBatch(
      {
        ...batchOf([{ ...rowOf('123', { name: 'Ada' }), hash: 'aGFzaA' }], {
          tombstones: [{ externalId: '124', effect: 'hard' }],
        }),
        runId: example.runId,
      },
      {
        ...{
          orgId: example.orgId,
          connectionId: example.connectionId,
          resourceKey: 'contacts',
          specVersion: '1.2.0',
          mode: 'upsert',
        },
        ...{ sequenceBefore: 16, preparedAt: new Date(example.timestamp), recordsMax: 500, bytesMax: 1_048_576 },
        ...{ takenBytesMax: null, parallelism: 1 },
      },
    );
    const sent = JSON.parse(parts[0]?.body ?? '');
    expect({ ...sent, id: example.id }).toEqual(example);
    expect(Object.keys(sent)).toEqual(Object.keys(example));
    expect(example.id).toMatch(/^bat_[\w-]{43}$/);
  });

  it('verifies a signature as a receiver would', () => {
    const [code] = blocksOf('js');
    expect(code?.text).toContain('new Webhook(signingSecret)');
    const secret = `whsec_${Buffer.from('a secret of this receiver').toString('base64')}`;
    const rawBody = '{"id":"bat_1"}';
    const headers = webhookHeaders({ id: 'bat_1', body: rawBody, sentAt: new Date() }, [secret]);
    expect(new Webhook(secret).verify(rawBody, headers)).toEqual({ id: 'bat_1' });
    expect(() => new Webhook(secret).verify(`${rawBody} `, headers)).toThrow('No matching signature found');
  });
});
