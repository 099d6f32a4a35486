import { expect, test } from 'vitest'
import { REMOTE_OUTCOMES, type RemoteOutcome } from '../../../src/domain/remote.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { createObserver } from '../../../src/observe/observe.ts'
import { captureLog } from '../../support/capture-log.ts'

async function rig() {
  const captured = await captureLog()
  const metrics = createMetrics({ version: '1' })
  const { observe } = createObserver({ log: captured.log, metrics })
  return { observe, metrics, ...captured }
}

function message(outcome: RemoteOutcome, user = 666): RuntimeEvent {
  return { type: 'remote-message', outcome, user, detail: `${outcome} by ${user}` }
}

test('every outcome is counted from 0, and every obeyed message is logged', async () => {
  const { observe, metrics, lines } = await rig()
  for (const outcome of REMOTE_OUTCOMES)
    expect(await metrics.render()).toContain(
      `tranched_remote_messages_total{outcome="${outcome}"} 0`,
    )
  for (let i = 0; i < 3; i += 1) observe(message('obeyed', 4_711))
  expect(await metrics.render()).toContain('tranched_remote_messages_total{outcome="obeyed"} 3')
  expect(lines()).toHaveLength(3)
  expect(lines()[0]).toMatchObject({ level: 'info', msg: 'obeyed by 4711', user: 4_711 })
})

test('messages that outsiders can repeat endlessly are logged once a minute, and all are counted', async () => {
  const { observe, metrics, lines } = await rig()
  for (let i = 0; i < 5_000; i += 1) {
    observe(message('stranger', i))
    observe(message('flood'))
    observe(message('unreadable'))
  }
  expect(lines().map(({ msg }) => msg)).toEqual(['stranger by 0', 'flood by 666'])
  const text = await metrics.render()
  expect(text).toContain('tranched_remote_messages_total{outcome="stranger"} 5000')
  // Senders must not create series.
  expect(text.match(/tranched_remote_messages_total\{/g)).toHaveLength(REMOTE_OUTCOMES.length)
})

test('a Telegram outage is logged every ten minutes, and an unknown bot is an error', async () => {
  const { observe, metrics, lines } = await rig()
  const link = (state: 'listening' | 'silent' | 'conflict' | 'refused'): void =>
    observe({ type: 'remote-link', link: state, detail: state })
  expect(await metrics.render()).not.toContain('tranched_remote_listening{')
  link('listening')
  expect(await metrics.render()).toContain('tranched_remote_listening{service="telegram"} 1')
  for (let i = 0; i < 100; i += 1) link('silent')
  for (let i = 0; i < 100; i += 1) link('conflict')
  expect(await metrics.render()).toContain('tranched_remote_listening{service="telegram"} 0')
  link('refused')
  expect(lines().map(({ level, msg }) => [level, msg])).toEqual([
    ['info', 'listening'],
    ['warn', 'silent'],
    ['warn', 'conflict'],
    ['error', 'refused'],
  ])
})
