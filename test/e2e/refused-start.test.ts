import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/process/cli.ts'
import { segmentOf } from '../support/state/state-directory.ts'
import { audit } from './audit.ts'
import { everySecond, type Rehearsal, sharedSandbox, startRehearsal } from './rehearsal.ts'

const rehearse = sharedSandbox()

/** A state directory with some filled orders, whose daemon has stopped. */
async function tradedState(): Promise<Rehearsal> {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  return rehearsal
}

test('a second daemon on the same state directory exits with 75 and names the process that holds it', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const first = rehearsal.daemon()
  await first.sees(/metrics at/)
  const second = rehearsal.daemon()
  const { code, stderr } = await second.ended()
  expect(code).toBe(75)
  expect(stderr).toContain(`${join(rehearsal.stateDir, 'lock')}: held by process ${first.pid}`)
  expect((await first.stop()).code).toBe(0)
})

test('damaged state stops the start with the file and the remedy, and is left unchanged', async () => {
  const { config, stateDir } = await tradedState()
  const journal = segmentOf(stateDir)
  const snapshot = join(stateDir, 'state.json')
  for (const file of [journal, snapshot]) copyFileSync(file, goodOf(file))
  const damages: readonly { file: string; damage: () => void; says: RegExp }[] = [
    { file: journal, damage: () => changeMiddleLine(journal), says: /line \d+/ },
    { file: journal, damage: () => cutAtLine(journal, 0.5), says: /it ends after record \d+/ },
    { file: journal, damage: () => truncateSync(journal, 0), says: /it ends after record 0/ },
    { file: dirname(journal), damage: () => rmSync(journal), says: /it is missing/ },
  ]
  for (const { file, damage, says } of damages) {
    for (const each of [journal, snapshot]) copyFileSync(goodOf(each), each)
    damage()
    const before = contentsOf(journal)
    const { code, stderr } = await run(['run', '--config', config, '--http-port', '0'])
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(says)
    expect(stderr).toContain(`${file}: `)
    expect(stderr).toMatch(/keep a copy of the whole state directory before anything else/)
    expect(stderr).toMatch(/`tranched state verify` says how far the journal is sound/)
    expect(contentsOf(journal)).toBe(before)
  }
  expect((await run(['status', '--config', config])).code).toBe(1)
})

test('an append torn by a power cut is dropped with a warning, and trading goes on', async () => {
  const rehearsal = await tradedState()
  const journal = segmentOf(rehearsal.stateDir)
  writeFileSync(journal, `${readFileSync(journal, 'utf8')}{"seq":9999,"atMs":17`)
  const daemon = rehearsal.daemon()
  await daemon.sees(/was cut short \(21 bytes left out\)/)
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  expect((await audit(rehearsal)).discrepancies).toEqual([])
})

test('state of another chain is refused with 78, whichever sandbox made it', async () => {
  const [made, other] = await Promise.all([
    rehearse(everySecond('buy-weth')),
    startRehearsal(everySecond('buy-weth')),
  ])
  const first = made.daemon()
  await first.sees(/metrics at/)
  await first.stop()
  const stranger = await other.daemon(['--state-dir', made.stateDir]).ended()
  expect(stranger.code).toBe(78)
  expect(stranger.stderr).toMatch(
    /the state directory belongs to wallet 0x.*: use another stateDir/,
  )
  for (const name of ['trader.key', 'trader.anchor'])
    copyFileSync(join(made.dir, 'config', name), join(other.dir, 'config', name))
  const { code, stderr } = await other.daemon(['--state-dir', made.stateDir]).ended()
  expect(code).toBe(78)
  expect(stderr).toMatch(/the state directory belongs to another chain .*: use another stateDir/)
  expect(stderr).not.toMatch(/^\s+at /m)
})

test('the embedded sandbox never touches the state of a live run', async () => {
  const { dir, stateDir } = await tradedState()
  const config = join(dir, 'sandbox.yaml')
  writeFileSync(config, `mode: sandbox\nstateDir: ${stateDir}\nstrategiesDir: ./strategies\n`)
  const before = contentsOf(segmentOf(stateDir))
  const { code, stderr } = await run(['run', '--config', config, '--http-port', '0'])
  expect(code).toBe(78)
  expect(stderr).toMatch(/this directory holds state or keys that no sandbox run created/)
  expect(contentsOf(segmentOf(stateDir))).toBe(before)
})

test('a metrics port in use is named with a remedy, and nothing is traded', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void holder.close())
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { code, stderr } = await rehearsal.daemon(['--http-port', String(port)]).ended()
  expect([1, 78]).toContain(code)
  expect(stderr).toContain(`http port ${port} on 127.0.0.1 is in use: stop what holds it`)
  expect(stderr).not.toMatch(/^\s+at /m)
})

/** Copies go outside the state directory, where a start would not read them. */
function goodOf(file: string): string {
  return join(dirname(file), '..', `${basename(file)}.good`)
}

/** Changes the time within a middle line: a changed MAC byte would be another kind of damage, with another message. */
function changeMiddleLine(file: string): void {
  const data = readFileSync(file)
  const at = data.indexOf('"atMs":', data.indexOf('\n', Math.floor(data.length / 2))) + 10
  data[at] = (data[at] ?? 0) ^ 1
  writeFileSync(file, data)
}

function cutAtLine(file: string, share: number): void {
  const text = readFileSync(file, 'utf8')
  const end = text.indexOf('\n', Math.floor(text.length * share)) + 1
  writeFileSync(file, text.slice(0, end))
}

function contentsOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'latin1') : undefined
}
