import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Address, Hex } from '../../src/domain/money/units.ts'
import type { TransactionRecord } from '../../src/journal/records.ts'
import { encodeRecords } from '../../src/store/file/journal-codec.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { outputOf } from '../support/output-of.ts'
import { type Ended, run } from '../support/process/cli.ts'
import { segmentOf } from '../support/state/state-directory.ts'
import { audit } from './audit.ts'
import { everySecond, nodeCall, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()
const STRANGER: Address = `0x${'5a'.repeat(20)}`
const FIVE_ETHER = 5n * 10n ** 18n

/** A state directory with some filled orders, whose daemon has stopped. */
async function traded(): Promise<Rehearsal> {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  return rehearsal
}

function state(of: Rehearsal, ...args: readonly string[]): Promise<Ended> {
  return run(['state', ...args, '--config', of.config])
}

test('a start names and refuses an injected line, even one with a correct hash chain', async () => {
  const rehearsal = await traded()
  const { stateDir, report, config } = rehearsal
  const file = segmentOf(stateDir)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const { seq, hash } = JSON.parse(lines.at(-1) ?? '') as { seq: number; hash: Hex }
  const { bound } = (await readJournal(stateDir)).state
  const transaction: TransactionRecord = {
    id: 'approve:forged:0',
    purpose: 'approve',
    intentId: undefined,
    chainId: 8453,
    from: bound?.owner ?? STRANGER,
    nonce: Number(rehearsal.before.nonce) + 1,
    to: STRANGER,
    data: '0x',
    value: FIVE_ETHER,
    gas: 50_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 10n ** 9n,
    hash: `0x${'11'.repeat(32)}`,
  }
  const forged = encodeRecords(
    { seq, hash },
    [{ type: 'transaction-recorded', transaction }],
    Date.now(),
  )
  const guess = { address: STRANGER, macOf: () => 'ab'.repeat(32) }
  const signed = encodeRecords(
    { seq, hash },
    [{ type: 'transaction-recorded', transaction }],
    Date.now(),
    guess,
  )
  const whole = readFileSync(file)
  for (const { text } of [forged, signed]) {
    writeFileSync(file, whole)
    appendFileSync(file, text)
    const { code, stderr, stdout } = await run(['run', '--config', config, '--http-port', '0'])
    expect(code).toBe(1)
    expect(stderr).toContain(`${file}: line ${seq + 1} was not written by this wallet's daemon`)
    expect(stderr).toContain('Nothing of it was acted on')
    expect(stdout).not.toContain('metrics at')
    const verified = await state(rehearsal, 'verify', '--json')
    expect(verified.code).toBe(1)
    expect(outputOf('state verify', verified.stdout)).toMatchObject({
      ok: false,
      faults: [{ file }],
    })
  }
  expect(BigInt(await nodeCall<string>(report, 'eth_getBalance', [STRANGER, 'latest']))).toBe(0n)
  // Without the key, verification covers only the structure, and says so.
  const keyless = await run([
    'state',
    'verify',
    '--config',
    '/nowhere.yaml',
    '--state-dir',
    stateDir,
  ])
  expect(keyless.stdout).toMatch(/not checked, only the structure/)
  writeFileSync(file, whole)
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  expect((await audit(rehearsal)).discrepancies).toEqual([])
})

test('a damaged or missing state.json is rebuilt at the start or by command, and no order is lost', async () => {
  const rehearsal = await traded()
  const { stateDir } = rehearsal
  const snapshot = join(stateDir, 'state.json')
  truncateSync(snapshot, 100)
  expect((await state(rehearsal, 'verify')).stdout).toMatch(/NOT SOUND[\s\S]*$/)
  expect((await run(['status', '--config', rehearsal.config])).stdout).toMatch(/^STRATEGY .*FILLS/m)
  const daemon = rehearsal.daemon()
  await daemon.sees(/it was made anew from the journal, which proves whole/)
  await daemon.sees(/filled buy-weth/)
  expect((await state(rehearsal, 'rebuild')).code).toBe(75)
  expect((await daemon.stop()).code).toBe(0)
  expect(existsSync(`${snapshot}.damaged`)).toBe(true)
  rmSync(snapshot)
  const rebuilt = await state(rehearsal, 'rebuild')
  expect([rebuilt.code, rebuilt.stdout]).toEqual([
    0,
    expect.stringMatching(/^state\.json was rebuilt from \d+ intact records$/m),
  ])
  const verified = await state(rehearsal, 'verify')
  expect([verified.code, verified.stdout]).toEqual([
    0,
    expect.stringContaining('sound: nothing is missing or altered'),
  ])
  expect((await audit(rehearsal)).discrepancies).toEqual([])
})

test('a journal that is moved away under a running daemon stops it at the next record', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  renameSync(join(rehearsal.stateDir, 'journal'), join(rehearsal.dir, 'moved'))
  const { code } = await daemon.ended()
  expect(code).toBe(1)
  expect(daemon.output()).toMatch(/it was moved away or removed while the daemon is running/)
  renameSync(join(rehearsal.dir, 'moved'), join(rehearsal.stateDir, 'journal'))
  expect((await state(rehearsal, 'verify')).code).toBe(0)
})

test('a backup taken beside a running daemon verifies, restores after a loss, and never overwrites newer state', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { stateDir, dir } = rehearsal
  const backup = join(dir, 'backup.tar')
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const taken = await state(rehearsal, 'backup', backup, '--json')
  expect(taken.code, taken.stderr).toBe(0)
  const { last } = JSON.parse(taken.stdout)
  expect((await state(rehearsal, 'backup', backup)).code).toBe(1)
  expect((await state(rehearsal, 'restore', backup)).code).toBe(75)
  await daemon.sees(/(filled buy-weth[\s\S]*){2}/)
  expect((await daemon.stop()).code).toBe(0)

  const refused = await state(rehearsal, 'restore', backup, '--json')
  expect(refused.code).toBe(1)
  const { objection, loses } = JSON.parse(refused.stdout)
  expect(objection).toContain('what is here is sound, and newer')
  expect(loses).toMatchObject({ from: last.seq + 1 })
  expect(loses.authorizations).toBeGreaterThan(0)

  mkdirSync(join(dir, 'lost'))
  for (const name of ['journal', 'state.json'])
    renameSync(join(stateDir, name), join(dir, 'lost', name))
  const restored = await state(rehearsal, 'restore', backup)
  expect([restored.code, restored.stdout]).toEqual([
    0,
    expect.stringContaining(`everything up to record ${last.seq}`),
  ])
  expect((await state(rehearsal, 'verify')).code).toBe(0)
  rmSync(join(stateDir, 'journal'), { recursive: true })
  cpSync(join(dir, 'lost'), stateDir, { recursive: true })
  expect((await audit(rehearsal)).discrepancies).toEqual([])
})
