import * as v from 'valibot';

/** A picture within the setting itself, so that the page of a customer loads nothing from elsewhere. */
const logoForm = /^data:image\/(?:png|jpeg|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

/** How the page for customers looks. */
export const ConnectSettings = v.object({
  name: v.pipe(
    v.nullable(v.pipe(v.string(), v.maxLength(100), v.regex(/\S/, 'expected a name'))),
    v.description('How customers know you. Null: the name of the org.'),
    v.examples(['Acme']),
  ),
  color: v.pipe(
    v.nullable(v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/i, 'expected a color such as #0a7f5a'))),
    v.description('The color of buttons; their text is black or white. Null: blue.'),
    v.examples(['#0a7f5a']),
  ),
  logo: v.pipe(
    v.nullable(
      v.pipe(
        v.string(),
        v.maxLength(60_000, 'expected a picture of at most 45,000 bytes'),
        v.regex(logoForm, 'expected a data URL of a PNG, JPEG, WebP or SVG in base64'),
      ),
    ),
    v.description('A picture as a data URL of at most 60,000 characters. Null: none.'),
    v.examples([null]),
  ),
});
export type ConnectSettings = v.InferOutput<typeof ConnectSettings>;
