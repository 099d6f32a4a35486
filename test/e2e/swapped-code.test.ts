import { readFileSync } from 'node:fs'
import type { Hex } from 'viem'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { ApproveData } from '../../src/cli/json/operate-outputs.ts'
import { run } from '../support/process/cli.ts'
import { all, audit } from './audit.ts'
import { everySecond, metricsOf, nodeCall, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

test('a spender whose code is swapped under the daemon gets no permit before an operator accepts the new code', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { report, config } = rehearsal
  const { gasless } = parse(readFileSync(config, 'utf8'))
  const [spender] = gasless.spenders
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const code = await nodeCall<Hex>(report, 'eth_getCode', [spender, 'latest'])
  // The behaviour is the same, but the code differs.
  await nodeCall(report, 'anvil_setCode', [spender, `${code}00`])
  await daemon.sees(/the code of gasless\.spenders\.0 \(0x[0-9a-f]{40}\) changed/)
  await daemon.sees(/refused buy-weth[^\n]*code-changed/)
  expect((await metricsOf(daemon)).get('tranched_contracts_changed')).toBe(1)

  const listed = await run(['approve', '--config', config, '--json'])
  const { waiting }: ApproveData = JSON.parse(listed.stdout)
  expect(waiting).toMatchObject([{ kind: 'contract', name: 'gasless.spenders.0' }])
  const status = await run(['status', '--config', config])
  expect(status.stdout).toMatch(/CODE CHANGED \S+ ago, gasless\.spenders\.0/)
  const typo = await run(['approve', 'gasless.spenders.1', '--config', config])
  expect([typo.code, typo.stderr]).toEqual([1, expect.stringContaining('did you mean')])
  const given = await run(['approve', spender, '--config', config, '--json'])
  const { approved, details }: ApproveData = JSON.parse(given.stdout)
  expect(approved).toEqual(['gasless.spenders.0'])
  expect(details[0]).toMatch(/had code 0x[0-9a-f]{64} and has code 0x[0-9a-f]{64}/)
  await daemon.sees(/accepted the code of gasless\.spenders\.0[\s\S]*filled buy-weth/)
  // Restoring the code is a change as well, and is accepted in the journal while no daemon runs.
  await nodeCall(report, 'anvil_setCode', [spender, code])
  await daemon.sees(
    /changed[\s\S]*accepted the code[\s\S]*gasless\.spenders\.0 \(0x[0-9a-f]{40}\) changed/,
  )
  expect((await daemon.stop()).code).toBe(0)
  const alone = await run(['approve', 'gasless.spenders.0', '--config', config])
  expect(alone.stdout).toMatch(/^approved gasless\.spenders\.0: 0x[0-9a-f]{40} had code/)
  const next = rehearsal.daemon()
  await next.sees(/filled buy-weth/)
  expect((await next.stop()).code).toBe(0)
  const { events, discrepancies } = await audit(rehearsal)
  expect(discrepancies).toEqual([])
  const statuses = all(events, 'contract-code').flatMap(({ name, status }) =>
    name === 'gasless.spenders.0' ? [status] : [],
  )
  expect(statuses).toEqual(['seen', 'changed', 'accepted', 'changed', 'accepted'])
  const types = events.map((event) =>
    event.type === 'contract-code' ? `code ${event.status}` : event.type,
  )
  const [from, to] = [types.indexOf('code changed'), types.indexOf('code accepted')]
  expect(types.slice(from, to)).not.toContain('permit-recorded')
})
