import type { UpstreamOptions, UpstreamRequest, UpstreamResponse } from './upstream.ts';

/** The response of a script; `body` is sent as JSON. */
export interface ScriptedReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Responds to the requests of one path. */
export type Script = (query: URLSearchParams, request: UpstreamRequest) => ScriptedReply;

/** Paths of the fake API whose responses a test makes up. */
export interface ScriptedApi {
  /** For {@link UpstreamOptions.response}. */
  readonly reply: NonNullable<UpstreamOptions['reply']>;
  /** Serves `/{name}` from now on. */
  serve(name: string, script: Script): void;
}

/** An API without any path. */
export function createScriptedApi(): ScriptedApi {
  const scripts = new Map<string, Script>();
  return {
    reply(request): UpstreamResponse | undefined {
      const url = new URL(request.url, 'http://upstream');
      const script = scripts.get(url.pathname.split('/')[1] ?? '');
      if (!script) return undefined;
      const { body = null, ...rest } = script(url.searchParams, request);
      return { ...rest, body: JSON.stringify(body) };
    },
    serve: (name, script) => void scripts.set(name, script),
  };
}
