import { Worker } from 'node:worker_threads'
import PQueue from 'p-queue'

export type WorkersInput = {
  /** The program that each thread runs: it answers every message with one, in order. */
  readonly program: URL
  /** What a thread is told at its start; anything that can be cloned. */
  readonly order: unknown
  /** Threads at most. */
  readonly count: number
}

export type Workers<Job, Answer> = {
  /** Gives a job to a thread that has none. Rejects where its thread fails, which no job should make it do. */
  answer(job: Job): Promise<Answer>
  /** Ends all threads, whatever they do. */
  close(): Promise<void>
}

/** Threads that do jobs, one each at a time; each is started when there is something for it to do. */
export function openWorkers<Job, Answer>(input: WorkersInput): Workers<Job, Answer> {
  const queue = new PQueue({ concurrency: input.count })
  const all: Worker[] = []
  const idle: Worker[] = []
  const start = (): Worker => {
    const worker = new Worker(input.program, { workerData: input.order })
    all.push(worker)
    return worker
  }
  return {
    answer: (job) =>
      queue.add(async () => {
        const worker = idle.pop() ?? start()
        const answer = await answerOf<Answer>(worker, job)
        idle.push(worker)
        return answer
      }),
    async close() {
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
