-- Reserved: filled in or removed before it lands.
SELECT;
