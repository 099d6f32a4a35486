import { parentPort, workerData } from 'node:worker_threads'
import type { SweepJob } from '../backtest/sweep/sweep.ts'
import type { SweepOrder } from './commands/backtest/input.ts'
import { Player, type SweepAnswer } from './commands/backtest/player.ts'
import { openModules } from './compose/modules.ts'

/** A thread of a sweep: plays one backtest after the other. */
const port = parentPort
if (port === null) throw new Error('this is a part of `tranched backtest --sweep`')
const opening = Player.open(workerData as SweepOrder, {
  io: { env: process.env },
  modules: openModules(),
})

async function play(job: SweepJob): Promise<SweepAnswer> {
  const player = await opening
  if (!(player instanceof Player)) throw new Error('the files have changed since the sweep began')
  return player.play(job)
}

port.on('message', (job: SweepJob) => void play(job).then((answer) => port.postMessage(answer)))
