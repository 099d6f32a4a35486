import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLog } from '../../../src/cli/compose/observing.ts'
import type { Io } from '../../../src/cli/process/io.ts'
import { notifySecrets } from '../../../src/config/settings/notify.ts'
import { createScrubber } from '../../../src/system/scrubber.ts'
import { CONFIG, settingsOf } from '../config/config-fixture.ts'

const SIGNING = Buffer.from('CANARY-signing-CANARY-signing').toString('base64')
const ENV = {
  HOOK: 'https://hooks.example/services/T0CANARYa/B0CANARYb?key=CANARYquery',
  SECRET: `whsec_${SIGNING}`,
  TG: '123456:CANARY-canary_CANARY-canary_CANARYc',
  CHAT: 'https://discord.example/api/webhooks/998877665544/CANARY_discord_CANARY',
  NTFY: 'tk_CANARYntfyCANARY',
  PASSWORD: 'CANARY p@ss word',
  SMTP: 'smtps://me%40example.com:CANARY%2Fsmtp%2Fpass@mail.example.com',
  PING: 'https://hc.example/CANARY-0000-1111-2222',
}
const variable = (name: keyof typeof ENV): string => `"\${${name}}"`

const TEXT = `${CONFIG}notify:
  webhooks: [{ url: ${variable('HOOK')}, secret: ${variable('SECRET')} }]
  telegram: [{ token: ${variable('TG')}, chat: 1 }]
  discord: [{ url: ${variable('CHAT')} }]
  slack: [{ url: ${variable('CHAT')} }]
  ntfy:
    - { topic: CANARY-topic-CANARY, token: ${variable('NTFY')} }
    - { topic: short, user: me, password: ${variable('PASSWORD')} }
  email: [{ smtp: ${variable('SMTP')}, from: a@b.c, to: [a@b.c] }]
  heartbeat: { url: ${variable('PING')} }
`

/** Secrets as an error, a service or a package may repeat them. */
const LEAKS: readonly string[] = [
  ...Object.values(ENV),
  SIGNING,
  'CANARY-canary_CANARY-canary_CANARYc',
  '/services/T0CANARYa/B0CANARYb',
  'CANARYquery',
  'CANARY/smtp/pass',
  'CANARY%2Fsmtp%2Fpass',
  Buffer.from('CANARY p@ss word').toString('base64'),
  'CANARY-topic-CANARY',
  'CANARY-0000-1111-2222',
]

test("no log line contains a receiver's secret in any form", async () => {
  const settings = settingsOf(TEXT, { env: ENV })
  const written: string[] = []
  const stderr = { write: (line: string) => written.push(line) }
  const scrubber = createScrubber()
  const io = { stderr, stdout: stderr } as unknown as Io
  const log = await openLog(settings, { io, json: true, scrubber })
  for (const leak of LEAKS)
    log.error(`it said: ${leak} and more`, { detail: leak, err: new Error(leak), deep: [{ leak }] })
  await setImmediate()
  expect(written.join('').trimEnd().split('\n')).toHaveLength(LEAKS.length)
  expect(written.join('')).not.toMatch(/CANARY|canary/)
  expect(written.join('')).not.toContain(SIGNING)
})

test('a topic that is an ordinary word stays readable', () => {
  const secrets = notifySecrets(settingsOf(TEXT, { env: ENV }).notify)
  expect(secrets).not.toContain('short')
})
