/** The message never repeats the server's bytes. */
export class PostgresProtocolError extends Error {
  override readonly name = 'PostgresProtocolError';
}

/** All methods throw {@link PostgresProtocolError} when the message ends too early. */
export class MessageReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  skip(bytes: number): void {
    if (bytes > this.#end - this.#at) throw broken();
    this.#at += bytes;
  }

  skipRest(): void {
    this.#at = this.#end;
  }

  byte(): number {
    this.skip(1);
    return this.#bytes[this.#at - 1] ?? 0;
  }

  int16(): number {
    this.skip(2);
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.skip(4);
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  /** Returns the bytes of the text without its NUL. */
  text(): number {
    const start = this.#at;
    const nul = this.#bytes.indexOf(0, start);
    if (nul === -1 || nul >= this.#end) throw broken();
    this.#at = nul + 1;
    return nul - start;
  }

  end(): void {
    if (this.#at !== this.#end) throw broken();
  }
}

export const broken = (): PostgresProtocolError =>
  new PostgresProtocolError("the server does not follow PostgreSQL's protocol; check host and port");
