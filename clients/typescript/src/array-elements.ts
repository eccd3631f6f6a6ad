/**
 * The elements of a JSON array while its bytes arrive, as the caller's type says they are. Throws the reason of the
 * signal, and for a text that ends before the array does: the service closes the connection when a list fails midway.
 */
export async function* arrayElements<Element>(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Element, void> {
  const splitter = createSplitter();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const stop = () => void reader.cancel(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      for (const text of splitter.push(decoder.decode(value, { stream: !done }))) yield JSON.parse(text);
      if (done) break;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    await reader.cancel();
  }
  if (!splitter.ended()) throw new SyntaxError('The list ended before its end: read it again.');
}

/** Finds where the elements of an array begin and end. */
function createSplitter() {
  // Text that is not given out yet. Depth 1 is inside the array.
  let text = '';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let ended = false;
  return {
    ended: () => ended,
    *push(more: string): Generator<string> {
      let at = text.length;
      text += more;
      let begin = 0;
      for (; at < text.length; at += 1) {
        const character = text[at];
        if (inString) {
          if (escaped) escaped = false;
          else if (character === '\\') escaped = true;
          else if (character === '"') inString = false;
        } else if (character === '"') inString = true;
        else if (character === '[' || character === '{') {
          depth += 1;
          if (depth === 1) begin = at + 1;
        } else if ((character === ',' && depth === 1) || ((character === ']' || character === '}') && --depth === 0)) {
          const element = text.slice(begin, at);
          if (element.trim() !== '') yield element;
          begin = at + 1;
          ended = depth === 0;
        }
      }
      text = text.slice(begin);
    },
  };
}
