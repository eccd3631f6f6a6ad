import { DefaultFailureConverter, type FailureConverter } from '@temporalio/common';

type Failure = Parameters<FailureConverter['failureToError']>[0];
type Rest = [Parameters<FailureConverter['failureToError']>[1], Parameters<FailureConverter['failureToError']>[2]?];

/** The sealed parts of a failure: all that decides how a run ends. */
interface SealedAttributes {
  readonly message?: unknown;
  readonly stack_trace?: unknown;
  readonly type?: unknown;
}

/**
 * Seals message, stack and code of a failure. An activity failure that none of our workers sealed is replaced, because it
 * could end a run with any code and message.
 */
class SealedFailureConverter extends DefaultFailureConverter {
  override errorToFailure(error: unknown, ...[converter, context]: Rest): Failure {
    const failure = super.errorToFailureInner(error, converter, context);
    const { message, stackTrace: stack_trace, applicationFailureInfo } = failure;
    const attributes = { message, stack_trace, type: applicationFailureInfo?.type ?? '' };
    const encodedAttributes = converter.toPayload(attributes, context);
    return { ...failure, message: 'Encoded failure', stackTrace: '', encodedAttributes };
  }

  override failureToError(failure: Failure, ...[converter, context]: Rest): Error {
    const { applicationFailureInfo, encodedAttributes } = failure;
    if (!applicationFailureInfo) return super.failureToError(failure, converter, context);
    const sealed = encodedAttributes
      ? converter.fromPayload<SealedAttributes | null>(encodedAttributes, context)
      : undefined;
    const type = applicationFailureInfo.type ?? '';
    const isOurs = typeof sealed?.message === 'string' && sealed.type === type;
    return super.failureToError(isOurs ? failure : unknownFailure(failure), converter, context);
  }
}

const unknownFailure = ({ applicationFailureInfo }: Failure): Failure => ({
  message:
    'The failure of an activity was refused: no worker of the service has sealed it. See the log of the workers.',
  applicationFailureInfo: { type: 'internal', nonRetryable: applicationFailureInfo?.nonRetryable ?? false },
});

/** Workers, clients and the workflow bundle find it by this name in this file. */
export const failureConverter = new SealedFailureConverter();
