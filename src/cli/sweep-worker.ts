import { parentPort, workerData } from 'node:worker_threads'
import type { SweepJob } from '../backtest/sweep/sweep.ts'
import type { SweepOrder } from './commands/backtest/input.ts'
import { openPlayer } from './commands/backtest/player.ts'
import { openModules } from './compose/modules.ts'

/** Worker thread of a sweep: runs one backtest after the other. */
const port = parentPort
if (port === null) throw new Error('this is a part of `tranched backtest --sweep`')
const play = openPlayer(workerData as SweepOrder, {
  io: { env: process.env },
  modules: openModules(),
})

port.on('message', (job: SweepJob) => void play(job).then((answer) => port.postMessage(answer)))
