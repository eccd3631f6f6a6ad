import type { HtmlEscapedString } from 'hono/utils/html';

/** The only way to make markup here, as it escapes values: `raw` of the same library is never used. */
export { html } from 'hono/html';

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
/** Text is escaped, `null` and `false` are omitted. */
export type Content = Html | string | number | null | false | readonly Content[];
