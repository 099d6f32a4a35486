import type { Make } from './make.ts'

const RESULTS = ['delivered', 'failed', 'expired']

/** Messages to people, by receiver: `telegram-1` is its kind and place in the config. */
export function notifyingMetrics(make: Make, channels: readonly string[]) {
  const notifications = make.counter({
    name: 'tranched_notifications_total',
    help: 'Messages that were delivered, that the receiver refused or that had no room, or that were given up after a day.',
    labelNames: ['channel', 'result'],
  })
  const waiting = make.gauge({
    name: 'tranched_notifications_waiting',
    help: 'Messages in the outbox that the receiver has not taken yet.',
    labelNames: ['channel'],
  })
  for (const channel of channels) {
    waiting.set({ channel }, 0)
    for (const result of RESULTS) notifications.inc({ channel, result }, 0)
  }
  return { notifications, notificationsWaiting: waiting }
}
