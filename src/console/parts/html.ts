import type { HtmlEscapedString } from 'hono/utils/html';

/** The one way to make markup here: what is filled in is escaped. `raw` of the same library is never used. */
export { html } from 'hono/html';

/** Markup whose values have been escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
/** What can stand inside markup: text is escaped, null and false are nothing. */
export type Content = Html | string | number | null | false | readonly Content[];
