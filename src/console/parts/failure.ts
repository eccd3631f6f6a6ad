import { rejections, statusOf } from '../../api/errors.ts';
import type { ErrorBody } from '../../core/resources/error.ts';
import { helpFor } from './help.ts';
import { type Content, type Html, html } from './html.ts';
import { table } from './table.ts';

const titles: Readonly<Record<number, string>> = {
  [statusOf.validation]: 'This cannot be done as it is',
  [statusOf.unauthorized]: 'Your session does not allow this',
  [statusOf.forbidden]: 'Your key does not allow this',
  [statusOf.plan_limit]: 'Your plan does not allow this',
  [statusOf.not_found]: 'Not found',
  [rejections.other_method.status]: 'This address does something else',
  [statusOf.conflict]: 'This cannot be done now',
  [rejections.too_long.status]: 'This is too long',
  [statusOf.rate_limited]: 'Too many requests',
  [statusOf.internal]: 'Something went wrong',
  [statusOf.unavailable]: 'The service is not available now',
};

export const failureTitle = (status: number): string => titles[status] ?? 'Something went wrong';

export function failure({ error }: ErrorBody, { status, back }: { status: number; back: string }): Html {
  return html`<div class="failure">
    <h1>${failureTitle(status)}</h1>
    <p>${status === statusOf.unavailable ? 'A part of the service does not respond at the moment.' : sentence(error.message)}</p>
    ${issueList(error.issues ?? [])}
    ${nextStep(error, status)}
    <p><a class="button primary" href="${back}">${back === '/console' ? 'To the overview' : 'Back'}</a></p>
  </div>`;
}

/** Issues are corrected in the form, and a 404 explains itself; other advice is on the page about errors. */
function nextStep({ code, issues = [] }: ErrorBody['error'], status: number): Content {
  if (issues.length > 0) return help('Go back, correct this, and send it again.');
  if (status === statusOf.not_found)
    return help('It may be deleted, or of another org than this API key. Or its address is mistyped.');
  // The advice for programs is about headers.
  if (status === statusOf.unavailable) return help('Wait a moment, then load the page again.');
  return code === undefined ? null : failureAdvice(code);
}

const help = (words: string): Html => html`<p class="help">${words}</p>`;

const sentence = (text: string): string => (/[.!?:]$/.test(text) ? text : `${text}.`);

/** Empty for a code that the page about errors does not name. */
export const failureAdvice = (code: string): Content => {
  const words = helpFor(code);
  return words === null ? null : html`<div class="help">${words}</div>`;
};

export const issueList = (
  issues: readonly { readonly path: string; readonly message: string; readonly line?: number | undefined }[],
): Content =>
  issues.length === 0
    ? null
    : table({
        caption: 'What is wrong',
        columns: [
          {
            head: 'Where',
            cell: ({ path, line }) => html`<code>${path || 'the whole'}</code>${line ? ` line ${line}` : ''}`,
          },
          { head: 'What is wrong', cell: ({ message }) => message, kind: 'wide' },
        ],
        rows: issues,
        empty: null,
      });
