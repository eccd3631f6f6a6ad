import { request } from 'undici';
import * as v from 'valibot';
import { Issue as IssueSchema } from '../../core/resources/spec.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Tools } from '../tools.ts';
import { type ServiceAddress, serviceAddress } from './service-address.ts';

interface CallOptions {
  readonly body?: unknown;
  readonly document?: { readonly text: string; readonly type: string };
}

export interface Service {
  readonly address: ServiceAddress;
  /** `path` is below `/api/v1`. Throws the service's errors as command errors. */
  call<const Schema extends v.GenericSchema>(
    schema: Schema,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: string,
    options?: CallOptions,
  ): Promise<v.InferOutput<Schema>>;
}

export interface ServiceArguments {
  readonly profile?: string;
}

/** Validating a spec with its tests takes up to 30 s. */
const requestMsMax = 60_000;

const ErrorResponse = v.object({
  error: v.object({
    code: v.optional(v.string(), 'rejected'),
    message: v.string(),
    issues: v.optional(v.array(IssueSchema)),
  }),
});

/** Sends nothing yet; throws usage errors. */
export async function openService(tools: Tools, { profile }: ServiceArguments): Promise<Service> {
  const address = await serviceAddress(tools, profile);
  return {
    address,
    async call(schema, method, path, options = {}) {
      const { status, text } = await send(address, tools.signal, { method, path, ...options });
      const body = parsed(text);
      if (status >= 400) throw refused(address, status, body);
      const { success, output } = v.safeParse(schema, body);
      if (success) return output;
      throw new CommandError(
        exitCodes.service,
        'unexpected_response',
        `${address.url} responded to ${method} ${path} with ${status} and something else than this version expects. ` +
          'Is this the address of the service, and is the service of the same version?',
      );
    },
  };
}

interface Sent extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
}

async function send(address: ServiceAddress, signal: AbortSignal, { method, path, body, document }: Sent) {
  const content = document?.text ?? (body === undefined ? null : JSON.stringify(body));
  try {
    const response = await request(`${address.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${address.apiKey}`,
        accept: 'application/json',
        ...(content === null ? {} : { 'content-type': document?.type ?? 'application/json' }),
      },
      body: content,
      signal,
      headersTimeout: requestMsMax,
      bodyTimeout: requestMsMax,
    });
    return { status: response.statusCode, text: await response.body.text() };
  } catch (error) {
    if (signal.aborted) throw new CommandError(exitCodes.interrupted, 'interrupted', 'Interrupted.');
    const { explainError } = await import('../../admin/explain-error.ts');
    const [reason] = explainError(error).split('\n');
    throw new CommandError(
      exitCodes.service,
      'service_unreachable',
      `The service at ${address.url} (${address.origin}) cannot be reached: ${reason}. ` +
        'Start it (npm start), or choose another one: css profile use NAME, or CSS_API_URL.',
      { cause: error },
    );
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function refused({ url, origin }: ServiceAddress, status: number, body: unknown): CommandError {
  const { success, output } = v.safeParse(ErrorResponse, body);
  if (status === 401)
    return new CommandError(
      exitCodes.service,
      'unauthorized',
      `The service at ${url} rejects the API key of ${origin}. Give it a valid one: css profile add NAME --url ${url}, or CSS_API_KEY.`,
    );
  if (!success)
    return new CommandError(
      exitCodes.service,
      'unexpected_response',
      `${url} responded with ${status}, and not as the service does. Is this its address?`,
    );
  const { code, message, issues } = output.error;
  const hint =
    code === 'not_found' && message.startsWith('Connection') ? ' css connections shows those of this org.' : '';
  return new CommandError(exitCodes.wrong, code, `${message}${hint}`, { issues });
}

export const segment = (text: string): string => encodeURIComponent(text);
