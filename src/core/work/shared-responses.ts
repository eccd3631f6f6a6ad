/**
 * Merges concurrent look-ups of one group into one call: whoever calls while a call of the same group is in progress
 * waits for the next response, which is one for all who wait. So no response is older than its question, and there is one
 * question to a group at a time.
 *
 * @param ask responds to all the questions of a group, in the order in which they came.
 */
export function sharedResponses<Question, Reply>(
  ask: (questions: readonly [Question, ...Question[]]) => Promise<Reply>,
  groupOf: (question: Question) => string,
): (question: Question) => Promise<Reply> {
  const inProgress = new Map<string, Promise<Reply>>();
  const next = new Map<string, { readonly others: Question[]; readonly response: Promise<Reply> }>();
  const begin = (group: string, questions: readonly [Question, ...Question[]]): Promise<Reply> => {
    const response = ask(questions);
    inProgress.set(group, response);
    const forget = () => {
      if (inProgress.get(group) === response) inProgress.delete(group);
    };
    response.then(forget, forget);
    return response;
  };
  return (question) => {
    const group = groupOf(question);
    const current = inProgress.get(group);
    if (!current) return begin(group, [question]);
    const waiting = next.get(group);
    if (waiting) {
      waiting.others.push(question);
      return waiting.response;
    }
    const others: Question[] = [];
    const beginNext = () => {
      next.delete(group);
      return begin(group, [question, ...others]);
    };
    const response = current.then(beginNext, beginNext);
    next.set(group, { others, response });
    return response;
  };
}
