/**
 * Questions of which several are asked at once, answered together: who asks while others of the same group are answered
 * waits for the next answer, which is one for all who wait. So no answer is older than its question, and there is one
 * question to a group at a time.
 *
 * @param ask answers all the questions of a group, in the order in which they were asked.
 */
export function sharedAnswers<Question, Answer>(
  ask: (questions: readonly [Question, ...Question[]]) => Promise<Answer>,
  groupOf: (question: Question) => string,
): (question: Question) => Promise<Answer> {
  const underWay = new Map<string, Promise<Answer>>();
  const next = new Map<string, { readonly others: Question[]; readonly answer: Promise<Answer> }>();
  const begin = (group: string, questions: readonly [Question, ...Question[]]): Promise<Answer> => {
    const answer = ask(questions);
    underWay.set(group, answer);
    const forget = () => {
      if (underWay.get(group) === answer) underWay.delete(group);
    };
    answer.then(forget, forget);
    return answer;
  };
  return (question) => {
    const group = groupOf(question);
    const current = underWay.get(group);
    if (!current) return begin(group, [question]);
    const waiting = next.get(group);
    if (waiting) {
      waiting.others.push(question);
      return waiting.answer;
    }
    const others: Question[] = [];
    const beginNext = () => {
      next.delete(group);
      return begin(group, [question, ...others]);
    };
    const answer = current.then(beginNext, beginNext);
    next.set(group, { others, answer });
    return answer;
  };
}
