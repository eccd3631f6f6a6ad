import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { specDocument } from '../upstream/api-fixtures.ts';

/** One request of the corpus, and what must come back. */
export interface BadInput {
  readonly id: string;
  readonly group: string;
  readonly why: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly noAuth?: boolean;
  readonly body?: unknown;
  readonly bodyText?: string;
  readonly bodyHex?: string;
  readonly bodyGen?: Readonly<Record<string, string | number>>;
  /** The whole request as bytes on a socket. */
  readonly raw?: string;
  /** 0: the connection is closed without a response. */
  readonly expectStatus: number | readonly number[];
  /** Null: no code, or no error. */
  readonly expectCode: string | null | readonly (string | null)[];
}

/** Values of the names in braces, such as `{connectionId}`. */
export type Placeholders = Readonly<Record<string, string>>;

/** The corpus as it was handed over. */
export async function readBadInput(): Promise<readonly BadInput[]> {
  return JSON.parse(await readFile(join(import.meta.dirname, '../../fixtures/bad-input.json'), 'utf8'));
}

/** What came back; status 0: nothing but a closed connection. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends an entry over a real socket, with the path and the bytes exactly as given. */
export function send(entry: BadInput, port: number, values: Placeholders): Promise<WireResponse> {
  return entry.raw === undefined ? sendRequest(entry, port, values) : sendRaw(fill(entry.raw, values), port);
}

async function sendRequest(entry: BadInput, port: number, values: Placeholders): Promise<WireResponse> {
  const body = bodyOf(entry, values);
  const headers = { ...headersOf(entry, values), ...(body === undefined ? {} : lengthOf(entry, body)) };
  const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
  const request = httpRequest(
    // A connection of its own: one that the server cut must not fail the next entry.
    { host: '127.0.0.1', port, agent: false, method: entry.method, path: fill(entry.path, values), headers },
    (reply) => {
      const { statusCode: status = 0, headers: received } = reply;
      text(reply).then((content) => resolve({ status, headers: received, text: content }), reject);
    },
  );
  request.on('error', reject);
  request.end(body);
  return promise;
}

const lengthOf = ({ headers }: BadInput, body: string | Buffer): Record<string, string> =>
  headers['transfer-encoding'] === undefined ? { 'content-length': String(Buffer.byteLength(body)) } : {};

function headersOf({ headers, noAuth }: BadInput, values: Placeholders): Record<string, string> {
  const { gen, ...given } = headers;
  const all: Record<string, string | null> = {
    ...(noAuth ? {} : { authorization: `Bearer ${values['apiKey']}` }),
    'content-type': 'application/json',
    ...given,
  };
  if (typeof gen === 'string') {
    for (let index = 0; index < Number(gen.split(':')[1]); index += 1) all[`x-h-${index}`] = 'v';
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, fill(value, values)]])),
  );
}

function bodyOf(
  { body, bodyText, bodyHex, bodyGen, group }: BadInput,
  values: Placeholders,
): string | Buffer | undefined {
  if (bodyHex !== undefined) return Buffer.from(bodyHex, 'hex');
  if (bodyText !== undefined) return fill(bodyText, values);
  if (bodyGen !== undefined) return generate(bodyGen);
  if (body === undefined) return undefined;
  return fill(JSON.stringify(group === 'spec' ? completeSpec(body as SketchedSpec) : body), values);
}

function generate({
  prefix,
  unit,
  count,
  mid = '',
  close = '',
  suffix = '',
  end = '',
}: NonNullable<BadInput['bodyGen']>) {
  return `${prefix}${String(unit).repeat(Number(count))}${mid}${String(close).repeat(Number(count))}${suffix}${end}`;
}

function fill(template: string, values: Placeholders): string {
  return template.replace(/\{(repeat|random):?([^{}":]*):?(\d+)\}|\{([\w:-]+)\}/g, (all, kind, unit, count, name) => {
    if (kind === 'repeat') return unit.repeat(Number(count));
    if (kind === 'random') return 'r'.repeat(Number(count));
    return values[name] ?? all;
  });
}

/** The corpus sketches specs without knowing their schema. */
interface SketchedSpec {
  readonly gen?: string;
  readonly metadata?: object;
  readonly resources?: readonly object[];
  readonly destination?: { readonly table?: string };
  readonly orgId?: string;
}

/** The sketch in a document that has no other issue, so that the issue of the entry is what is checked. */
function completeSpec({ gen, metadata, resources = [], destination, orgId }: SketchedSpec): unknown {
  const valid = { ...specDocument(), ...(orgId === undefined ? {} : { orgId }) };
  const [item] = valid.resources;
  if (gen !== undefined) return generatedSpec(gen);
  if (metadata === undefined) return {};
  const table = destination?.table;
  const placed = table === undefined ? [item] : [{ ...item, target: { table } }];
  const sketched = resources.map((resource) => ({ ...item, ...resource }));
  return { ...valid, metadata, resources: sketched.length > 0 ? sketched : placed };
}

function generatedSpec(gen: string): unknown {
  const valid = specDocument({ key: 'generated' });
  const [item] = valid.resources;
  const [kind = '', ...rest] = gen.split(':');
  const value = rest.join(':');
  if (kind === 'transform') return { ...valid, resources: [{ ...item, transform: value }] };
  if (kind === 'baseUrl') return { ...valid, http: { baseUrl: value } };
  const chain = Array.from({ length: Number(value) }, (_item, index) => ({
    ...item,
    key: `r${index}`,
    target: { table: `t${index}` },
    ...(index === 0 ? {} : { dependsOn: [`r${index - 1}`] }),
  }));
  return { ...valid, resources: chain };
}

async function sendRaw(bytes: string, port: number): Promise<WireResponse> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  const received = await text(socket);
  const [head = '', ...body] = received.split('\r\n\r\n');
  const content = body.join('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
    headers: {},
    text: content.replace(/^[0-9a-f]+\r\n|\r\n0\r\n\r\n$/g, ''),
  };
}
