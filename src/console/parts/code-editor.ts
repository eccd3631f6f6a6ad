import type { Issue } from '../../core/errors.ts';
import { type Content, type Html, html } from './html.ts';
import { counted } from './numbers.ts';

/** The id of the numbers, which the script replaces together with the result of a check. */
export const gutterId = 'gutter';

/** Numbers below the last line, for lines that are typed until the next check; the stylesheet hides the rest. */
const spareLines = 200;
/** Lines further down have no number. */
const numberedMax = 20_000;

interface EditorOptions {
  readonly name: string;
  readonly label: string;
  readonly text: string;
  /** Lines to mark, from 1. */
  readonly marked: readonly number[];
  /** The id of what a check says about the text. */
  readonly describedBy: string;
}

/** A text area as high as its text, beside its line numbers: both scroll together without a script. */
export const codeEditor = ({ name, label, text, marked, describedBy }: EditorOptions): Html => {
  const lines = text.split('\n').length;
  return html`<div class="field wide"><label for="${name}">${label}</label>
    <div class="editor"><div class="numbered">
      ${gutter(Math.min(lines + spareLines, numberedMax), new Set(marked))}
      <textarea id="${name}" name="${name}" rows="${Math.max(14, lines + 1)}" wrap="off" spellcheck="false" aria-describedby="${describedBy}">${text}</textarea>
    </div></div></div>`;
};

/** A marked number is where a link to its line leads. */
function gutter(count: number, marked: ReadonlySet<number>): Html {
  const parts: (string | Html)[] = [];
  let plain = '';
  for (let line = 1; line <= count; line += 1) {
    if (!marked.has(line)) plain += `${line}\n`;
    else {
      parts.push(plain, html`<b id="line-${line}">${line}</b>`);
      plain = '\n';
    }
  }
  return html`<div id="${gutterId}" class="gutter" aria-hidden="true">${[...parts, plain]}</div>`;
}

/** Issues beyond these are listed without the lines around them. */
const framesMax = 20;

/** Each issue of a text with its line and those beside it. */
export const placedIssues = (text: string, issues: readonly Issue[]): Html => {
  const lines = text.split('\n');
  return html`<p class="notice bad">${counted(issues.length, 'issue')} to correct.</p>
    <ol class="issues">${issues.map(
      ({ path, message, line }, index) =>
        html`<li><p>${line === undefined ? '' : html`<a href="#line-${line}">Line ${line}</a> `}${
          path === '' ? '' : html`<code>${path}</code> `
        }${message}</p>${line === undefined || index >= framesMax ? '' : frame(lines, line)}</li>`,
    )}</ol>`;
};

/** Longer lines are cut: they are in the editor. */
const shownCharacters = 160;

const frame = (lines: readonly string[], marked: number): Content =>
  html`<div class="frame" aria-hidden="true">${[marked - 1, marked, marked + 1]
    .filter((line) => line >= 1 && line <= lines.length)
    .map(
      (line) =>
        html`<div class="${line === marked ? 'marked' : ''}"><span>${line}</span><code>${lines[line - 1]?.slice(0, shownCharacters)}</code></div>`,
    )}</div>`;
