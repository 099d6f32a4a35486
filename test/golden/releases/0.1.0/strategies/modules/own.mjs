export const schema = ({ z }) => z.strictObject({})

export function decide() {
  return { orders: [] }
}
