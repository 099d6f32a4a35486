import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { childScript, messageFrom } from '../../../support/process/child-script.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

const HOLDER = fileURLToPath(new URL('../../../support/process/key-holder.ts', import.meta.url))

test('a process that has loaded its key, signed and logged holds no text of the key', async () => {
  const dir = temporaryDirectory()
  const key = Buffer.from(`11${randomBytes(31).toString('hex')}`, 'hex')
  const file = join(dir, 'trader.hex')
  const snapshot = join(dir, 'memory.heapsnapshot')
  writeFileSync(file, `0x${key.toString('hex')}\n`, { mode: 0o600 })
  const start = await childScript(HOLDER, { packages: 'external' })
  const message = await messageFrom(start(file, snapshot))
  expect(message).toMatchObject({ lines: 1 })
  const memory = readFileSync(snapshot, 'latin1')
  // The address must be present: this proves that the search works.
  expect(memory).toContain((message as { address: string }).address)
  const lower = memory.toLowerCase()
  const base64 = key.toString('base64').slice(0, 43)
  for (const spelling of [
    key.toString('hex'),
    BigInt(`0x${key.toString('hex')}`).toString(),
    base64,
    base64.replaceAll('/', '\\/'),
    key.toString('base64url'),
    key.join(','),
  ])
    expect(lower.includes(spelling.toLowerCase())).toBe(false)
})
