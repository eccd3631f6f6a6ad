import { DefaultFailureConverter, type FailureConverter } from '@temporalio/common';

type Failure = Parameters<FailureConverter['failureToError']>[0];
type Rest = [Parameters<FailureConverter['failureToError']>[1], Parameters<FailureConverter['failureToError']>[2]?];

/** What is sealed of a failure: all that decides how a run ends. */
interface SealedAttributes {
  readonly message?: unknown;
  readonly stack_trace?: unknown;
  /** The code of the failure. */
  readonly type?: unknown;
}

/**
 * Makes message, stack and code of a failure part of a payload, and payloads are sealed. A failure of an activity that none of
 * our workers has sealed says nothing: whoever may write to Temporal could otherwise end a run with any code and message.
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

/** Workers, clients and the bundle of workflows find it by its name in this file. */
export const failureConverter = new SealedFailureConverter();
