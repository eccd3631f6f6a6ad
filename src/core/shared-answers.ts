/**
 * Questions of which several are asked at once, answered together: who asks while one is under way waits for the next, which
 * all who wait share. So no answer is older than its question, and each question is asked at most twice at a time.
 */
export function sharedAnswers<Question, Answer>(
  ask: (question: Question) => Promise<Answer>,
): (question: Question) => Promise<Answer> {
  const underWay = new Map<Question, Promise<Answer>>();
  const next = new Map<Question, Promise<Answer>>();
  const begin = (question: Question): Promise<Answer> => {
    const answer = ask(question);
    underWay.set(question, answer);
    const forget = () => {
      if (underWay.get(question) === answer) underWay.delete(question);
    };
    answer.then(forget, forget);
    return answer;
  };
  return (question) => {
    const current = underWay.get(question);
    if (!current) return begin(question);
    const waiting = next.get(question);
    if (waiting) return waiting;
    const beginNext = () => {
      next.delete(question);
      return begin(question);
    };
    const later = current.then(beginNext, beginNext);
    next.set(question, later);
    return later;
  };
}
