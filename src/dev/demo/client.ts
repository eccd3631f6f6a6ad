import * as v from 'valibot';
import { ConnectionRow } from '../../core/resources/connection.ts';
import { ErrorBody } from '../../core/resources/error.ts';
import { QuarantineRow } from '../../core/resources/quarantine.ts';
import { CallLogRow, RunRow } from '../../core/resources/run.ts';
import { SpecVersionRow } from '../../core/resources/spec.ts';

export interface NewConnection {
  readonly workspaceId: string;
  readonly specKey: string;
  readonly specVersion: string;
  readonly displayName: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface SpecDocument {
  readonly metadata: { readonly key: string; readonly version: string };
}

/** Only endpoints that any customer's program could use. Each throws an Error with the API's message. */
export type ApiClient = ReturnType<typeof createApiClient>;

/** `apiUrl` is without `/api/v1`; responses are checked against the documented shapes. */
export function createApiClient(apiUrl: string, apiKey: string) {
  const ask = createAsk(`${apiUrl}/api/v1`, apiKey);
  return {
    createSpec: (spec: SpecDocument) => ask(SpecVersionRow, 'POST', '/specs', spec),
    publishSpec: ({ metadata: { key, version } }: SpecDocument) =>
      ask(SpecVersionRow, 'POST', `/specs/${key}/versions/${version}/publish`),
    createConnection: (connection: NewConnection) => ask(ConnectionRow, 'POST', '/connections', connection),
    activate: (id: string) => ask(ConnectionRow, 'POST', `/connections/${id}/activate`),
    sync: (id: string, resource: string) => ask(RunRow, 'POST', `/connections/${id}/sync`, { resource }),
    run: (id: string) => ask(RunRow, 'GET', `/runs/${id}`),
    calls: (runId: string) => ask(v.array(CallLogRow), 'GET', `/runs/${runId}/calls`),
    quarantine: (connectionId: string) =>
      ask(v.array(QuarantineRow), 'GET', `/quarantine?connectionId=${connectionId}`),
  };
}

function createAsk(baseUrl: string, apiKey: string) {
  return async <S extends v.GenericSchema>(
    schema: S,
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<v.InferOutput<S>> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const document: unknown = await response.json();
    if (response.ok) return v.parse(schema, document);
    throw new Error(`${method} ${path} responded with ${response.status}: ${explain(document)}`);
  };
}

function explain(document: unknown): string {
  const { success, output } = v.safeParse(ErrorBody, document);
  if (!success) return JSON.stringify(document);
  const issues = (output.error.issues ?? []).map(({ path, message }) => `${path}: ${message}`);
  return [output.error.message, ...issues].join('; ');
}
