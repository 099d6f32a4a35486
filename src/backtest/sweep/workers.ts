import { Worker } from 'node:worker_threads'
import PQueue from 'p-queue'

/** Threads that run one job at a time, each started on demand. */
export function openWorkers<Job, Answer>(input: {
  /** The threads' program, which answers each message with one, in order. */
  readonly program: URL
  /** `workerData`, cloneable. */
  readonly order: unknown
  readonly count: number
}) {
  const queue = new PQueue({ concurrency: input.count })
  const all: Worker[] = []
  const idle: Worker[] = []
  const start = (): Worker => {
    const worker = new Worker(input.program, { workerData: input.order })
    all.push(worker)
    return worker
  }
  return {
    /** Rejects if the thread fails, which no job should cause. */
    answer: (job: Job): Promise<Answer> =>
      queue.add(async () => {
        const worker = idle.pop() ?? start()
        const answer = await answerOf<Answer>(worker, job)
        idle.push(worker)
        return answer
      }),
    /** Ends all threads at once. */
    async close(): Promise<void> {
      queue.clear()
      await Promise.all(all.map((worker) => worker.terminate()))
    },
  }
}

function answerOf<Answer>(worker: Worker, job: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settled = (settle: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      settle()
    }
    const onMessage = (answer: Answer): void => settled(() => resolve(answer))
    const onError = (error: Error): void => settled(() => reject(error))
    const onExit = (code: number): void =>
      settled(() => reject(new Error(`a thread ended by itself, with code ${code}`)))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage(job)
  })
}
