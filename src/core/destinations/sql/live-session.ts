import { AppError } from '../../errors.ts';

export interface SqlSession extends AsyncDisposable {
  /** False once the network or the server ended it; a new session must be opened. */
  isUsable(): boolean;
}

/** Disposing also closes a session that is still connecting. */
interface LiveSession<Session extends SqlSession> extends AsyncDisposable {
  current(): Session | null;
  /** Returns the open session if usable, else a new one. Throws `destination_unavailable` if disposed meanwhile. */
  connected(): Promise<Session>;
}

/** Calls `onClose` whenever it drops a session. */
export function createLiveSession<Session extends SqlSession>({
  connect,
  onClose,
}: {
  readonly connect: () => Promise<Session>;
  readonly onClose: () => void;
}): LiveSession<Session> {
  let session: Session | null = null;
  let isDisposed = false;

  const close = async () => {
    const ending = session;
    session = null;
    onClose();
    await ending?.[Symbol.asyncDispose]();
  };

  return {
    current: () => session,
    async connected() {
      if (!session?.isUsable()) await close();
      session ??= await connect();
      if (!isDisposed) return session;
      // A caller that timed out did not wait for the connection.
      await close();
      throw new AppError('destination_unavailable', 'The destination was closed while it was being connected.');
    },
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      await close();
    },
  };
}
