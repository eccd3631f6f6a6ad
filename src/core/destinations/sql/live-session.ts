import { AppError } from '../../errors.ts';

/** One connection to a customer's server. */
export interface SqlSession extends AsyncDisposable {
  /** False once the network or the server ended it; a new session must be opened. */
  isUsable(): boolean;
}

/** The session of a destination. Disposing closes it, and one that is still being connected. */
interface LiveSession<Session extends SqlSession> extends AsyncDisposable {
  /** Null: none is open. */
  current(): Session | null;
  /**
   * A usable session: the open one, or else a new one. Throws what connecting throws, and `destination_unavailable` when
   * disposed meanwhile.
   */
  connected(): Promise<Session>;
}

/** Connects when a session is needed; `onClose` is called whenever it drops one. */
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
      // A caller that gave up did not wait for the connection.
      await close();
      throw new AppError('destination_unavailable', 'The destination was closed while it was being connected.');
    },
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      await close();
    },
  };
}
