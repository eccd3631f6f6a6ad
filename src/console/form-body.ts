import { decode, readBytes } from '../api/gates/body-gate.ts';
import { AppError } from '../core/errors.ts';
import { bodyBytesMax, checkDocument } from '../core/json/body-document.ts';

export const formTokenField = 'form_token';

/** A name that ends with `[]` is a list, also of one. */
export type FormFields = Readonly<Record<string, string | readonly string[]>>;

/**
 * Normalizes line ends to `\n`. Throws `HttpRejection` 413 for a long form, and a validation error for a repeated name
 * that is not a list or text that cannot be stored.
 */
export async function readForm(request: Request): Promise<FormFields> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) {
    throw new AppError('validation', 'A form is expected here: application/x-www-form-urlencoded.');
  }
  const fields = new Map<string, string | string[]>();
  for (const [name, raw] of new URLSearchParams(decode(await readBytes(request)))) {
    const value = raw.replace(/\r\n?/g, '\n');
    const list = name.endsWith('[]') ? name.slice(0, -2) : null;
    const known = fields.get(list ?? name);
    if (list === null) {
      if (known !== undefined) throw new AppError('validation', 'A field of the form comes twice: send it once.');
      fields.set(name, value);
    } else if (Array.isArray(known)) known.push(value);
    else fields.set(list, [value]);
  }
  const document = Object.fromEntries(fields);
  checkDocument(document, { textLengthMax: bodyBytesMax });
  return document;
}
