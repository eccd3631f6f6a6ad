import { isJsonObject } from '../../../json/is-json-object.ts';
import { quote, step } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import type { RequestDraft } from './request-draft.ts';

const responsePath = (name: string): RegExp => new RegExp(`\\b${name}\\b((?:\\.(?:[A-Za-z_]\\w*|\`[^\`]+\`))*)`, 'g');

interface Drafts {
  readonly create: RequestDraft;
  readonly poll: RequestDraft;
  readonly request: RequestDraft;
}

/** Turns the parts of earlier responses that requests use into the id and the values of a job. */
export function withResponses(
  drafts: Drafts,
  hasTarget: boolean,
  path: string,
): Drafts & { readonly id: string; readonly values: Readonly<Record<string, string>> } {
  const later = [drafts.poll, drafts.request];
  const used = textsOf(later).flatMap((text) => pathsOf(text, 'creation_response'));
  const ids = new Set(used.filter((found) => sentHeader(found) === null));
  if (ids.size > 1) refuse(path, 'requests use several values of the response that creates a job; one is its id');
  const names = new Map<string, string>();
  for (const found of textsOf([drafts.request]).flatMap((text) => pathsOf(text, 'polling_response'))) {
    if (!names.has(found)) names.set(found, `polled_${names.size + 1}`);
  }
  const usesTarget = textsOf([drafts.request]).some((text) => /\bdownload_target\b/.test(text));
  if (hasTarget && !usesTarget) refuse(path, 'the request for the file does not use its address');
  const replaced = (text: string): string =>
    text
      .replaceAll(responsePath('creation_response'), (_whole, found: string) => {
        const header = sentHeader(found);
        return header === null ? 'job.id' : headerCode(drafts.create, header, path);
      })
      .replaceAll(responsePath('polling_response'), (_whole, found: string) => `job.${names.get(found) ?? ''}`)
      .replaceAll(/\bdownload_target\b/g, 'job.part');
  const codeOf = (found: string): string => {
    if (found === '' || found.startsWith('.request')) return refuse(path, 'only a field of a response can be used');
    const header = /^\.headers\.`?([\w-]+)`?$/.exec(found)?.[1];
    return header === undefined ? `body${found}` : `headers.${step(header.toLowerCase()) ?? ''}`;
  };
  const [id] = ids;
  return {
    create: drafts.create,
    poll: mapped(drafts.poll, replaced),
    request: mapped(drafts.request, replaced),
    id: id === undefined ? '"job"' : codeOf(id),
    values: Object.fromEntries([...names].map(([found, name]) => [name, codeOf(found)])),
  };
}

/** The name in `creation_response.request.headers['…']`; `null` for another path. */
const sentHeader = (found: string): string | null =>
  /^\.request\.headers\.(?:([A-Za-z_]\w*)|`([^`]+)`)$/.exec(found)?.slice(1).find(Boolean) ?? null;

/** JSONata for a header of the request that creates the job: later requests see the same values. */
function headerCode({ headers }: RequestDraft, name: string, path: string): string {
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase());
  const template = entry?.[1];
  if (typeof template !== 'string')
    return refuse(path, `the request that creates a job has no header ${name.slice(0, 100)} of its own`);
  if (!/\{\{|\}\}/.test(template)) return quote(template);
  const code = /^\{\{((?:(?!\}\}|\{\{).)*)\}\}$/s.exec(template)?.[1];
  if (code === undefined || /\bjob\.key\b/.test(code))
    return refuse(path, `the header ${name.slice(0, 100)} of the request that creates a job is no single expression`);
  return `(${code.trim()})`;
}

const pathsOf = (text: string, name: string): readonly string[] =>
  [...text.matchAll(responsePath(name))].map(([, found = '']) => found);

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.match(holes) ?? [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

const holes = /\{\{.*?\}\}/gs;

function mapped<T>(value: T, replaced: (text: string) => string): T;
function mapped(value: unknown, replaced: (text: string) => string): unknown {
  if (typeof value === 'string') return value.replaceAll(holes, replaced);
  if (Array.isArray(value)) return value.map((item) => mapped(item, replaced));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapped(item, replaced)]));
}
