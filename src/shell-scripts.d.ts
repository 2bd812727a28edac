/** A shell script, as its text: the bundlers are configured to load it as text. */
declare module "*.sh" {
  const text: string;
  export default text;
}
