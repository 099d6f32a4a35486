import { REMOTE_OUTCOMES } from '../../../domain/remote.ts'
import type { Make } from './make.ts'

/** Who speaks to the daemon from afar. Where nobody may, the counts stay at 0 and the gauge is absent. */
export function remoteMetrics(make: Make) {
  const remoteMessages = make.counter({
    name: 'tranched_remote_messages_total',
    help: 'Messages to the bot that controls the daemon, by what came of them.',
    labelNames: ['outcome'],
  })
  for (const outcome of REMOTE_OUTCOMES) remoteMessages.inc({ outcome }, 0)
  return {
    remoteMessages,
    remoteListening: make.gauge({
      name: 'tranched_remote_listening',
      help: '1 while Telegram answers and nobody else listens for the bot.',
      labelNames: ['service'],
    }),
  }
}
