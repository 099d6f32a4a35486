import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLog } from '../../../src/cli/compose/observing.ts'
import type { Io } from '../../../src/cli/process/io.ts'
import { createScrubber } from '../../../src/system/scrubber.ts'
import { CONFIG, settingsOf } from '../config/config-fixture.ts'

const SECRET = 'CANARY-canary_CANARY-canary_CANARYc'
const TOKEN = `987654321:${SECRET}`

test('no bot token, part of it, or secret in its address passes through the log', async () => {
  const text = `${CONFIG}control: { telegram: { token: "\${BOT}", chats: [1], apiRoot: "https://bots.example/proxy/SECRETPATH123" } }\n`
  const written: string[] = []
  const stdout = { write: (line: string) => written.push(line) }
  const io = { stdout, stderr: stdout } as unknown as Io
  const scrubber = createScrubber()
  const log = await openLog(settingsOf(text, { env: { BOT: TOKEN } }), {
    io,
    json: false,
    scrubber,
  })
  log.info(`POST /bot${TOKEN}/getUpdates`, { token: TOKEN, part: SECRET, at: 'SECRETPATH123' })
  log.error('failed', { err: new Error(`no route to https://bots.example/bot${TOKEN}`) })
  await setImmediate()
  expect(written.join('').trimEnd().split('\n')).toHaveLength(2)
  expect(written.join()).not.toMatch(/CANARY|SECRETPATH/)
  expect(scrubber.text(`bot ${SECRET}`)).toBe('bot ***')
})
