import { AppError } from '../../errors.ts';
import type { Roots } from '../../expressions/template.ts';
import { textOf } from '../../json/json-text.ts';
import { type Renderer, rendererFor } from '../request/render-request.ts';
import type { Source } from '../source.ts';

/** The parts of a source that fill in its auth block. */
export type AuthContext = Pick<Source, 'params' | 'secrets' | 'run' | 'evaluator' | 'mask'>;

/** Fills in the templates of an auth block. The value of a template that mentions `secrets` is masked from then on. */
export interface AuthValues extends Renderer {
  /** The text of a template; null for a value that is null or missing. */
  text(template: string): Promise<string | null>;
  /** Throws `auth_failed`, naming `place`, when there is no value or an empty one. */
  required(template: string, place: string): Promise<string>;
  /** The text of a template as `required` gives it, always masked. */
  secret(template: string, place: string): Promise<string>;
  /** A map of templates; those without a value are left out. */
  texts(templates: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  mask(secret: string): void;
}

/** Templates see `params`, `secrets`, `auth` (empty), `run`, and `more`. */
export function authValues({ mask, ...context }: AuthContext, more: Roots = {}): AuthValues {
  const { params, secrets, run } = context;
  const renderer = rendererFor(context, { params, secrets, auth: {}, run, ...more });
  const text = async (template: string): Promise<string | null> => {
    const value = await renderer.value(template);
    if (value === undefined || value === null) return null;
    if (/\bsecrets\b/.test(template)) mask(textOf(value));
    return textOf(value);
  };
  const required = async (template: string, place: string): Promise<string> => {
    const value = await text(template);
    if (value !== null && value !== '') return value;
    throw new AppError('auth_failed', `${place} is empty. Set the secrets of the connection and activate it again.`);
  };
  return {
    ...renderer,
    text,
    required,
    secret: async (template, place) => {
      const value = await required(template, place);
      mask(value);
      return value;
    },
    texts: async (templates) => {
      const entries: [string, string][] = [];
      for (const [name, template] of Object.entries(templates)) {
        const value = await text(template);
        if (value !== null) entries.push([name, value]);
      }
      return Object.fromEntries(entries);
    },
    mask,
  };
}
