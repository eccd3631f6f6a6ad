/** The driver's own parts that write and read TDS. They are modules of another kind, whose types do not say so. */
import { createRequire } from 'node:module';
import type PreloginModule from 'tedious/lib/prelogin-payload.js';
import type ParserModule from 'tedious/lib/token/stream-parser.js';
import type BufferModule from 'tedious/lib/tracking-buffer/writable-tracking-buffer.js';

const load = createRequire(import.meta.url);

/** Writes the first message of either side. */
export const PreloginPayload: typeof PreloginModule.default = load('tedious/lib/prelogin-payload.js');

/** Reads tokens: columns, rows, the end. */
export const StreamParser: typeof ParserModule.default = load('tedious/lib/token/stream-parser.js');

/** Writes numbers and texts as TDS has them. */
export const TdsBuffer: typeof BufferModule.default = load('tedious/lib/tracking-buffer/writable-tracking-buffer.js');
export type TdsBuffer = InstanceType<typeof TdsBuffer>;
