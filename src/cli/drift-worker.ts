import { parentPort, workerData } from 'node:worker_threads'
import { headline, readDrift } from './commands/money/drift.ts'
import type { ConfigOptions } from './load-files.ts'

/** Worker thread of a weekly digest: compares live trading with a backtest, away from the thread that trades. */
const port = parentPort
if (port === null) throw new Error('this is a part of `tranched run`')
const io = { env: process.env, stderr: { write: () => true, isTTY: false } }

port.on('message', async (period: { readonly fromMs: number; readonly untilMs: number }) => {
  const { strategies } = await readDrift(workerData as ConfigOptions, { period, io })
  const compared = strategies.filter(({ slots }) => slots > 0)
  port.postMessage(compared.map((each) => ({ strategy: each.strategy, line: headline(each) })))
})
