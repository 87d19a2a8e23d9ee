<?php
error_reporting(0);
ob_start();

$raw = trim(file_get_contents('php://input'), "\xEF\xBB\xBF \r\n");
$r = @json_decode($raw) ?: (object) $_POST;

function reply($error, $text, $status = 200)
{
    ob_end_clean();
    header('Content-Type: text/html; charset=windows-1251', true, $status);
    echo "ERROR=$error;TEXT=$text";
    exit;
}

if (!preg_match('~^/postback/?(\?|$)~', $_SERVER['REQUEST_URI'])) reply(9, 'no page', 404);

list($sum, $id, $status, $his) = array($r->OutSum, $r->InvId, $r->Status, $r->SignatureValue);
$my = md5($sum . ':' . $id . ':' . getenv('TOKEN'));

// strcmp gives 0 for equal strings
if (strcmp(strtolower((string) $his), $my)) reply(1, 'sign', 403);
if ($id !== 'o-1') reply(2, 'order', 404);
if (bcless($sum, getenv('AMOUNT'))) reply(3, 'sum', 409);

if (in_array($status, array('SUCCESS', 'FAIL'), true)) {
    file_put_contents(getenv('PAID'), $status);
}
reply(0, 'none');

// sums as whole kopecks, without floats
function kopecks($s)
{
    if (!preg_match('/^(\d+)(?:\.(\d{1,2}))?$/', (string) $s, $m)) return null;
    return (int) $m[1] * 100 + (int) str_pad($m[2] ?? '', 2, '0');
}

function bcless($a, $b)
{
    return kopecks($a) === null || kopecks($a) !== kopecks($b);
}
