/** The job of a resource whose API makes a report: made at `/create`, polled at `/state/…`, ready when it is `completed`. */
export const reportJob = (createPath = '/create') => ({
  create: { method: 'POST', path: createPath },
  id: 'body.id',
  poll: { path: '/state/{{ job.id }}' },
  status: 'body.status',
  completed: ['completed'],
  failed: ['failed'],
  intervalSeconds: 1,
});
