import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { everySecond, LEASH, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

/** Separate copies of config, keys, strategies, state and anchors. */
function copyOf({ dir, config }: Rehearsal): string {
  const to = temporaryDirectory()
  cpSync(dir, to, { recursive: true })
  const copied = config.replace(dir, to)
  writeFileSync(copied, readFileSync(copied, 'utf8').replaceAll(dir, to))
  return copied
}

function daemonBy(config: string) {
  return start(['run', '--config', config, '--http-port', '0', ...LEASH])
}

test('a copied setup does not trade beside the original, and names the process that does', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const before = rehearsal.daemon()
  await before.sees(/filled buy-weth/)
  expect((await before.stop()).code).toBe(0)
  const config = copyOf(rehearsal)

  const original = rehearsal.daemon()
  await original.sees(/filled buy-weth/)
  const copy = await daemonBy(config).ended()
  expect(copy.code).toBe(75)
  expect(copy.stderr).toContain(
    `wallet ${rehearsal.report.trader.toLowerCase()} on chain 8453: in use by process ${original.pid} since `,
  )
  expect(copy.stderr).toContain(`(tranched run), with its state in ${rehearsal.stateDir}.`)
  expect(copy.stdout).not.toContain('opened buy-weth')
  // Commands of the copy do not sign either.
  const signing = await run(['approvals', 'revoke', '--all', '--yes', '--config', config])
  expect([signing.code, signing.stderr]).toEqual([75, expect.stringContaining('in use by process')])
  const account = await run(['delegation', 'set', '--direct', '--config', config])
  expect([account.code, account.stderr]).toEqual([75, expect.stringContaining('in use by process')])

  // A crash leaves no claim behind.
  await original.killHard()
  const heir = daemonBy(config)
  await heir.sees(/metrics at/)
  expect((await heir.stop()).code).toBe(0)
})

test('a dry-run daemon claims no wallet', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const config = copyOf(rehearsal)
  writeFileSync(config, readFileSync(config, 'utf8').replace('mode: live', 'mode: dry-run'))
  const paper = daemonBy(config)
  await paper.sees(/filled buy-weth/)
  const live = rehearsal.daemon()
  await live.sees(/filled buy-weth/)
  expect((await live.stop()).code).toBe(0)
  expect((await paper.stop()).code).toBe(0)
})
