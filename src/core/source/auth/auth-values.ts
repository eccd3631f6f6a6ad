import { AppError } from '../../errors.ts';
import type { Roots } from '../../expressions/template.ts';
import { textOf } from '../../json/json-text.ts';
import { type Renderer, rendererFor } from '../request/render-request.ts';
import type { Source } from '../source.ts';
import type { ClientApp } from './client-app.ts';

export type AuthContext = Pick<Source, 'params' | 'secrets' | 'run' | 'evaluator' | 'mask' | 'apps'>;

/** Fills in the templates of an auth block, masking every value whose template mentions `secrets`. */
export interface AuthValues extends Renderer {
  /** `null` if the value is null or missing. */
  text(template: string): Promise<string | null>;
  /** Throws `auth_failed`, naming `place`, if the value is missing or empty. */
  required(template: string, place: string): Promise<string>;
  /** Like `required`, but always masked. */
  secret(template: string, place: string): Promise<string>;
  /** Leaves out templates without a value. */
  texts(templates: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  /** Throws `auth_failed` if the org has no OAuth app of that key. */
  app(key: string): Promise<ClientApp>;
  mask(secret: string): void;
}

/** Templates see `params`, `secrets`, `auth` (empty), `run`, and `more`. */
export function authValues({ mask, apps, ...context }: AuthContext, more: Roots = {}): AuthValues {
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
    async app(key) {
      const app = await apps?.(key);
      if (app) return app;
      const message = `The org has no OAuth app "${key}" for connections of this workspace: create it by POST /api/v1/oauth-apps.`;
      throw new AppError('auth_failed', `${message} The customer has nothing to correct.`);
    },
    mask,
  };
}
