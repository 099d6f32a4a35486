import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { shell } from '../support/process/shell.ts'

const LIVE_QUESTIONS = [
  /RPC URL of Base.* \[skip: BASE_RPC_URL\]: /,
  /URL of the swap service.* \[skip: GASLESS_URL\]: /,
  /settlement spender.* \[skip: GASLESS_SPENDER\]: /,
  /Tokens beside USDC.* \[skip: none\]: /,
  /one order may sell.* \[skip: 250\]: /,
  /all orders may sell.* \[skip: 1000\]: /,
  /each `dca` order.* \[skip: 25\]: /,
]

test('init prompts on a terminal, and Ctrl-C there ends it without writing anything', async () => {
  const { home, type } = shell()
  const begin = "script --quiet --return --command 'tranched init' /dev/null"
  const folder = /Folder to write into \[\.\]: /
  const broken = await type(begin, [{ to: folder, type: '\u0003' }])
  expect(broken).toMatchObject({
    code: 1,
    output: expect.stringContaining('interrupted: nothing was changed'),
  })
  expect(await type('ls')).toEqual({ code: 0, output: 'bin\n' })
  const done = await type(begin, [
    { to: folder, type: 'bot\r' },
    { to: /or all \[dca\]: /, type: 'twap\r' },
    { to: /Which mode \[live\]: /, type: '\r' },
    ...LIVE_QUESTIONS.map((to) => ({ to, type: '\r' })),
  ])
  expect(done).toMatchObject({
    code: 0,
    output: expect.stringContaining('wrote  config/live.yaml'),
  })
  expect((await type('ls bot/strategies')).output).toContain('twap-day.yaml')
  expect(readFileSync(join(home, 'bot/config/live.yaml'), 'utf8')).toContain('mode: live')
})
